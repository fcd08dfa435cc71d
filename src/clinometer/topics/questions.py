"""The questions that a topic brings itself: wordings, and factors that vary with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clinometer.errors import ContextError, TopicError
from clinometer.readouts.question import (
    OPTIONS,
    ShownQuestion,
    lay_out,
    option_orders,
    with_order,
)
from clinometer.readouts.tables import ReadoutTable
from clinometer.topics.prompt import Prompt, X, Y

MOST_PRODUCT = 100_000
"""Groups, words or questions that lists may be multiplied to."""

WORDING = "wording"
ORDER = "order"

BLANK_LINE = "[blank line]"
"""Where a question, whose spaces are collapsed otherwise, has an empty line."""

_BLANK = re.compile(rf" *{re.escape(BLANK_LINE)} *\n?")
_FACTOR = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Questions:
    """Wordings of one question and the factors that vary with them.

    Every wording is asked in every order of its options; the levels of the factors are spread
    evenly over these.
    """

    wordings: tuple[str, ...]
    """Templates with [X] and [Y], [Y] last; {factor} where the text of a factor stands."""

    factors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Factor -> level -> text; a factor that a wording does not name stands before it."""

    def __post_init__(self) -> None:
        if not self.wordings:
            raise TopicError(
                "contexts.wording: expected at least one wording, found none"
            )
        for i, wording in enumerate(self.wordings, start=1):
            self._check(" ".join(wording.split()), f"contexts.wording[{i}]")
        repeated = [w for w in self.wordings if self.wordings.count(w) > 1]
        if repeated:
            raise TopicError(
                f"contexts.wording: {repeated[0]!r} is listed twice; keep one of them"
            )
        for name, levels in self.factors.items():
            if len(levels) < 2:
                raise TopicError(
                    f"contexts.{name}: expected at least two levels, found {len(levels)}; a factor "
                    "that does not vary belongs in the wordings"
                )

    def _check(self, wording: str, place: str) -> None:
        for slot in (X, Y):
            times = wording.count(slot)
            if times != 1:
                raise TopicError(
                    f"{place}: expected {slot} once, found it {times} times"
                )
        if not wording.endswith(Y):
            raise TopicError(
                f"{place}: expected [Y], where the reply begins, at the end"
            )
        for name in _FACTOR.findall(wording):
            if name not in self.factors:
                raise TopicError(
                    f"{place}: {{{name}}} is not a factor; add [contexts.{name}] with its levels"
                )

    def rows(self, categories: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield every question as a template, with the level of each factor."""
        has_options = self._has_options()
        orders = option_orders(len(categories))
        if not has_options:
            orders = orders[:1]
        self._check_number(len(orders))
        templates: set[str] = set()
        for wording in range(len(self.wordings)):
            for number, order in enumerate(orders):
                template, labels = self._filled(wording, number)
                if has_options:
                    names = [categories[y] for y in order]
                    is_varied = OPTIONS.search(template) is not None
                    labels[ORDER] = ", ".join(names) if is_varied else "none"
                    template = with_order(template, names)
                # without its options a question is the same in every order
                if template not in templates:
                    templates.add(template)
                    yield template, labels

    def _has_options(self) -> bool:
        """Return whether a wording or the text of a factor has a place for the options."""
        texts = list(self.wordings)
        for levels in self.factors.values():
            texts += levels.values()
        return any(OPTIONS.search(text) for text in texts)

    def _check_number(self, orders: int) -> None:
        questions = len(self.wordings) * orders
        if questions > MOST_PRODUCT:
            raise TopicError(
                f"contexts: expected at most {MOST_PRODUCT:,} questions, found {questions:,}; "
                "leave out wordings"
            )

    def _filled(self, number: int, order: int) -> tuple[str, dict[str, str]]:
        """Return a wording with its factors, and what they are.

        The k-th factor goes round k times more slowly with the wordings and turns by one with the
        order, so that every pair of levels meets.
        """
        wording = self.wordings[number]
        labels = {WORDING: str(number + 1)}
        texts: dict[str, str] = {}
        period = 1
        for name, levels in self.factors.items():
            names = list(levels)
            level = names[(number // period + order) % len(levels)]
            labels[name] = level
            texts[name] = levels[level]
            period *= len(levels)
        before = [text for name, text in texts.items() if f"{{{name}}}" not in wording]
        filled = _FACTOR.sub(lambda match: texts[match[1]], wording)
        return " ".join(" ".join([*before, filled]).split()), labels


def question_prompt(
    prompt: Prompt, attributes: Mapping[str, tuple[str, ...]], readout: ReadoutTable
) -> Prompt:
    """Return a prompt whose slot is for the reply to a question, with the options in place."""
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
