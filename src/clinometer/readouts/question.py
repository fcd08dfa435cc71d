"""A question as a prompt shows it: its options, their labels and their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from clinometer.errors import ContextError, closest
from clinometer.readouts.tables import Labels

LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

OPTIONS = re.compile(r"\[options(?::([^\]]*))?\]")
"""[options], or [options: yes, no] with the order written out."""

OPTIONS_AND_SPACES = re.compile(rf" *{OPTIONS.pattern} *")

MOST_WHOLE = 3
"""Up to this many options, every order is shown."""


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question as one prompt asks it."""

    text: str
    """All of it, as the model reads it."""

    options: tuple[str, ...] = ()
    """The texts of the options in the order shown; () where nothing is offered."""

    labels: tuple[str, ...] = ()
    """What stands before each option ("A", "B"); () where nothing does."""

    order: tuple[int, ...] = ()
    """The category of each option shown, by index."""

    answers: tuple[str, ...] = ()
    """What a model would write at the slot for each word of the topic, in the topic's order ("" for
    a word that is only recognised); () where only replies can be read."""


def with_order(template: str, categories: Sequence[str]) -> str:
    """Return the template with the order of its options written out.

    >>> with_order("Invite [X]? [options] Answer: [Y]", ["no", "yes"])
    'Invite [X]? [options: no, yes] Answer: [Y]'
    """
    order = f"[options: {', '.join(categories)}]"
    return OPTIONS.sub(lambda _: order, template)


def lay_out(
    text: str, options: Mapping[str, Sequence[str]], labels: Labels
) -> ShownQuestion:
    """Return the question with its options in place of [options].

    With labels each option has its own line; without, they stand in the sentence.

    Args:
        text: the question, up to where the reply begins.
        options: category -> texts; the first is shown.
        labels: what stands before an option.

    >>> options = {"yes": ["Yes"], "no": ["No"]}
    >>> lay_out("Invite? [options: no, yes] Answer:", options, "letters").text
    'Invite?\\nA) No\\nB) Yes\\nAnswer:'
    >>> lay_out("Answer [options].", options, "none").text
    'Answer Yes or No.'
    """
    written_orders = OPTIONS.findall(text)
    if len(written_orders) > 1:
        raise ContextError(
            f"template {text!r}: expected [options] once, found {len(written_orders)} times"
        )
    if labels != "none" and not written_orders:
        raise ContextError(
            f"template {text!r}: expected [options] where the options are listed, found none; "
            'add it, or write labels = "none" in [readout]'
        )
    written_order = written_orders[0] if written_orders else ""
    order = _order(written_order, tuple(options), text)
    words = list(options.values())
    shown = tuple(words[y][0] for y in order)
    if labels == "none":
        sentence = OPTIONS.sub(lambda _: _either(shown), text)
        answers = tuple(word for of_category in words for word in of_category)
        return ShownQuestion(sentence, shown, (), order, answers)
    marks = _marks(len(order), labels)
    lines = [f"{mark}) {option}" for mark, option in zip(marks, shown, strict=True)]
    listed = "\n".join(["", *lines, ""])
    return ShownQuestion(
        OPTIONS_AND_SPACES.sub(lambda _: listed, text),
        shown,
        marks,
        order,
        _marked_answers(words, dict(zip(order, marks, strict=True))),
    )


def _marks(n: int, labels: Labels) -> tuple[str, ...]:
    """Return the labels of n options."""
    if labels == "letters":
        return LETTERS[:n]
    return tuple(str(i + 1) for i in range(n))


def _marked_answers(
    words: Sequence[Sequence[str]], marks: Mapping[int, str]
) -> tuple[str, ...]:
    """Return the answers to a question with labels: only these are scored, each in place of its
    option's first text."""
    answers: list[str] = []
    for y, of_category in enumerate(words):
        answers.append(marks[y])
        answers += [""] * (len(of_category) - 1)
    return tuple(answers)


def _either(options: Sequence[str]) -> str:
    """Return options as a sentence offers them.

    >>> _either(["Yes", "No", "Maybe"])
    'Yes, No or Maybe'
    """
    if len(options) < 2:
        return "".join(options)
    return f"{', '.join(options[:-1])} or {options[-1]}"


def _order(written: str, categories: Sequence[str], text: str) -> tuple[int, ...]:
    """Return the categories in the order that a template writes out, by index."""
    if not written.strip():
        return tuple(range(len(categories)))
    names = [name.strip() for name in written.split(",")]
    for name in names:
        if name not in categories:
            raise ContextError(
                f"template {text!r}: expected categories ({', '.join(categories)}) in [options: "
                f"…], found {name!r}{closest(name, categories)}"
            )
    if sorted(names) != sorted(categories):
        raise ContextError(
            f"template {text!r}: expected every category once in [options: …] "
            f"({', '.join(categories)}), found {', '.join(names)}"
        )
    return tuple(list(categories).index(name) for name in names)


def option_orders(n: int) -> tuple[tuple[int, ...], ...]:
    """Return all orders of up to three options; beyond, few orders that are balanced.

    Balanced (a Williams design): every option stands equally often at every position, and equally
    often right after every other. These are n orders for an even n, and 2n for an odd one.

    >>> option_orders(2)
    ((0, 1), (1, 0))
    >>> option_orders(4)
    ((0, 3, 1, 2), (1, 0, 2, 3), (2, 1, 3, 0), (3, 2, 0, 1))
    >>> len(option_orders(3)), len(option_orders(5))
    (6, 10)
    """
    if n <= MOST_WHOLE:
        return tuple(permutations(range(n)))
    # From both ends in turn: 0, n - 1, 1, n - 2, …
    zigzag = [n - 1 - i // 2 if i % 2 else i // 2 for i in range(n)]
    orders = [tuple((item + shift) % n for item in zigzag) for shift in range(n)]
    if n % 2:
        orders += [order[::-1] for order in orders]
    return tuple(orders)
