"""The questions that a topic brings itself: wordings, and factors that vary with them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clinometer.errors import ContextError, TopicError
from clinometer.readouts.readers import OPTIONS, ShownQuestion, lay_out, option_orders, with_order
from clinometer.readouts.tables import ReadoutTable
from clinometer.topics.prompt import Prompt, X, Y

#: Groups, words or questions that lists may be multiplied to.
MOST_PRODUCT = 100_000

WORDING, ORDER = "wording", "order"
#: Where a question, whose spaces are collapsed otherwise, has an empty line.
BLANK_LINE = "[blank line]"
_BLANK = re.compile(rf" *{re.escape(BLANK_LINE)} *\n?")
_FACTOR = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Questions:
    """Wordings of one question and the factors that vary with them.

    wordings  templates with [X] and [Y], [Y] last; {factor} where the text of a factor stands
    factors   factor -> level -> text; a factor that a wording does not name stands before it
    cross     factors (and "wording", "order") of which every combination is asked; the levels of
              the others are spread evenly over these
    """

    wordings: tuple[str, ...]
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cross: tuple[str, ...] = (WORDING, ORDER)

    def __post_init__(self) -> None:
        if not self.wordings:
            raise TopicError("contexts.wording: expected at least one wording, found none")
        for i, wording in enumerate(self.wordings, start=1):
            self._check(" ".join(wording.split()), f"contexts.wording[{i}]")
        if len(set(self.wordings)) < len(self.wordings):
            twice = next(w for w in self.wordings if self.wordings.count(w) > 1)
            raise TopicError(f"contexts.wording: {twice!r} is listed twice; keep one of them")
        for name, levels in self.factors.items():
            if len(levels) < 2:
                raise TopicError(
                    f"contexts.{name}: expected at least two levels, found {len(levels)}; a factor "
                    "that does not vary belongs in the wordings"
                )
        names = (WORDING, ORDER, *self.factors)
        for name in self.cross:
            if name not in names:
                raise TopicError(
                    f"contexts.cross: expected factors ({', '.join(names)}), found {name!r}"
                )
        if WORDING not in self.cross:
            raise TopicError("contexts.cross: expected wording among the factors, found none")

    def _check(self, wording: str, where: str) -> None:
        for slot in (X, Y):
            if (n := wording.count(slot)) != 1:
                raise TopicError(f"{where}: expected {slot} once, found it {n} times")
        if not wording.endswith(Y):
            raise TopicError(f"{where}: expected [Y], where the reply begins, at the end")
        for name in _FACTOR.findall(wording):
            if name not in self.factors:
                raise TopicError(
                    f"{where}: {{{name}}} is not a factor; add [contexts.{name}] with its levels"
                )

    def rows(self, categories: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Every question as a template, with the level of each factor."""
        orders = option_orders(len(categories))
        texts = [*self.wordings, *(t for levels in self.factors.values() for t in levels.values())]
        ordered = any(OPTIONS.search(text) for text in texts)
        sizes = {
            WORDING: len(self.wordings),
            **({ORDER: len(orders)} if ordered else {}),
            **{name: len(levels) for name, levels in self.factors.items()},
        }
        crossed = [name for name in sizes if name in self.cross]
        if (n := math.prod(sizes[name] for name in crossed)) > MOST_PRODUCT:
            raise TopicError(
                f"contexts: expected at most {MOST_PRODUCT:,} questions, found {n:,}; cross fewer "
                "factors"
            )
        spread = [name for name in sizes if name not in self.cross]
        seen: set[str] = set()
        for levels in itertools.product(*(range(sizes[name]) for name in crossed)):
            at = dict(zip(crossed, levels, strict=True))
            at |= _spread(at, sizes, spread)
            template, labels = self._filled(at)
            if ordered:
                names = [categories[y] for y in orders[at[ORDER]]]
                labels[ORDER] = ", ".join(names) if OPTIONS.search(template) else "none"
                template = with_order(template, names)
            if template not in seen:  # without its options a question is the same in every order
                seen.add(template)
                yield template, labels

    def _filled(self, at: Mapping[str, int]) -> tuple[str, dict[str, str]]:
        """A wording with its factors, and what they are."""
        labels = {WORDING: str(at[WORDING] + 1)}
        wording, texts = self.wordings[at[WORDING]], {}
        for name, levels in self.factors.items():
            labels[name], texts[name] = list(levels.items())[at[name]]
        before = [text for name, text in texts.items() if f"{{{name}}}" not in wording]
        filled = _FACTOR.sub(lambda match: texts[match[1]], wording)
        return " ".join(" ".join([*before, filled]).split()), labels


def _spread(
    at: Mapping[str, int], sizes: Mapping[str, int], spread: Sequence[str]
) -> dict[str, int]:
    """Levels of the factors that are not crossed: the k-th goes round k times more slowly with the
    wordings and turns by one with the order, so that every pair of levels meets."""
    levels = {}
    period = 1
    for name in spread:
        turned = at.get(ORDER, 0) if name != ORDER else 0
        levels[name] = (at[WORDING] // period + turned) % sizes[name]
        period *= sizes[name]
    return levels


def question_prompt(
    prompt: Prompt, attributes: Mapping[str, tuple[str, ...]], readout: ReadoutTable
) -> Prompt:
    """A prompt whose slot is for the reply to a question, with the options in place."""
    if prompt.after:
        raise ContextError(
            f"template {prompt.fill(Y)!r}: expected [Y] at the end, where the reply begins, found "
            f"{prompt.after.strip()!r} after it"
        )
    if readout.exact:
        shown = lay_out(prompt.before, attributes, readout.label_style)
    else:
        shown = ShownQuestion(prompt.before)
    if BLANK_LINE in shown.text:
        shown = replace(shown, text=_BLANK.sub("\n\n", shown.text))
    return replace(prompt, before=shown.text, shown=shown)
