"""The questions that a topic brings itself: wordings, and factors that vary with them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clinometer.errors import ContextError, TopicError
from clinometer.readouts.readers import (
    OPTIONS,
    ShownQuestion,
    lay_out,
    option_orders,
    with_order,
)
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

    Every wording is asked in every order of its options; the levels of the factors are spread
    evenly over these.
    """

    wordings: tuple[str, ...]
    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.wordings:
            raise TopicError(
                "contexts.wording: expected at least one wording, found none"
            )
        for i, wording in enumerate(self.wordings, start=1):
            self._check(" ".join(wording.split()), f"contexts.wording[{i}]")
        if len(set(self.wordings)) < len(self.wordings):
            twice = next(w for w in self.wordings if self.wordings.count(w) > 1)
            raise TopicError(
                f"contexts.wording: {twice!r} is listed twice; keep one of them"
            )
        for name, levels in self.factors.items():
            if len(levels) < 2:
                raise TopicError(
                    f"contexts.{name}: expected at least two levels, found {len(levels)}; a factor "
                    "that does not vary belongs in the wordings"
                )

    def _check(self, wording: str, where: str) -> None:
        for slot in (X, Y):
            if (n := wording.count(slot)) != 1:
                raise TopicError(f"{where}: expected {slot} once, found it {n} times")
        if not wording.endswith(Y):
            raise TopicError(
                f"{where}: expected [Y], where the reply begins, at the end"
            )
        for name in _FACTOR.findall(wording):
            if name not in self.factors:
                raise TopicError(
                    f"{where}: {{{name}}} is not a factor; add [contexts.{name}] with its levels"
                )

    def rows(self, categories: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Every question as a template, with the level of each factor."""
        orders = option_orders(len(categories))
        texts = [
            *self.wordings,
            *(t for levels in self.factors.values() for t in levels.values()),
        ]
        ordered = any(OPTIONS.search(text) for text in texts)
        if not ordered:
            orders = orders[:1]
        if (n := len(self.wordings) * len(orders)) > MOST_PRODUCT:
            raise TopicError(
                f"contexts: expected at most {MOST_PRODUCT:,} questions, found {n:,}; leave out "
                "wordings"
            )
        seen: set[str] = set()
        for wording, order in itertools.product(
            range(len(self.wordings)), range(len(orders))
        ):
            template, labels = self._filled(wording, order)
            if ordered:
                names = [categories[y] for y in orders[order]]
                labels[ORDER] = ", ".join(names) if OPTIONS.search(template) else "none"
                template = with_order(template, names)
            if (
                template not in seen
            ):  # without its options a question is the same in every order
                seen.add(template)
                yield template, labels

    def _filled(self, number: int, order: int) -> tuple[str, dict[str, str]]:
        """A wording with its factors, and what they are: the k-th goes round k times more slowly
        with the wordings and turns by one with the order, so that every pair of levels meets."""
        labels = {WORDING: str(number + 1)}
        wording, texts, period = self.wordings[number], {}, 1
        for name, levels in self.factors.items():
            level = (number // period + order) % len(levels)
            labels[name], texts[name] = list(levels.items())[level]
            period *= len(levels)
        before = [text for name, text in texts.items() if f"{{{name}}}" not in wording]
        filled = _FACTOR.sub(lambda match: texts[match[1]], wording)
        return " ".join(" ".join([*before, filled]).split()), labels


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
