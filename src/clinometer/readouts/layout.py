"""A question as a model reads it: where the options stand, in which order, with which labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from clinometer.errors import ContextError, closest
from clinometer.readouts.choice import LETTERS
from clinometer.readouts.protocol import ShownQuestion
from clinometer.readouts.tables import Labels

#: [options], or [options: yes, no] with the order written out.
OPTIONS = re.compile(r"\[options(?::([^\]]*))?\]")


def with_order(template: str, categories: Sequence[str]) -> str:
    """The template with the order of its options written out.

    >>> with_order("Invite [X]? [options] Answer: [Y]", ["no", "yes"])
    'Invite [X]? [options: no, yes] Answer: [Y]'
    """
    return OPTIONS.sub(lambda _: f"[options: {', '.join(categories)}]", template)


def lay_out(text: str, options: Mapping[str, Sequence[str]], labels: Labels) -> ShownQuestion:
    """The question with its options in place of [options].

    text      the question, up to where the reply begins
    options   category -> texts; the first is shown

    With labels each option has its own line; without, they stand in the sentence.

    >>> options = {"yes": ["Yes"], "no": ["No"]}
    >>> lay_out("Invite? [options: no, yes] Answer:", options, "letters").text
    'Invite?\\nA) No\\nB) Yes\\nAnswer:'
    >>> lay_out("Answer [options].", options, "none").text
    'Answer Yes or No.'
    """
    found = OPTIONS.findall(text)
    if len(found) > 1:
        raise ContextError(f"template {text!r}: expected [options] once, found {len(found)} times")
    order = _order(found[0] if found else "", tuple(options), text)
    marks: tuple[str, ...] = ()
    if labels != "none":
        if not found:
            raise ContextError(
                f"template {text!r}: expected [options] where the options are listed, found none; "
                'add it, or write labels = "none" in [readout]'
            )
        numbers = tuple(str(i + 1) for i in range(len(order)))
        marks = LETTERS[: len(order)] if labels == "letters" else numbers
    texts = list(options.values())
    shown = tuple(texts[y][0] for y in order)
    mark_of = dict(zip(order, marks, strict=False))
    # With labels only these are scored, each in place of its option's first text.
    answers = [
        (mark_of[y] if i == 0 else "") if marks else word
        for y, words in enumerate(texts)
        for i, word in enumerate(words)
    ]
    listed = _lines(shown, marks) if marks else _inline(shown)
    whole = OPTIONS.sub(lambda _: listed, text)
    whole = re.sub(r" *\n *", "\n", whole)
    return ShownQuestion(whole, shown, marks, order, tuple(answers))


def _order(written: str, categories: Sequence[str], text: str) -> tuple[int, ...]:
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


def _lines(shown: Sequence[str], marks: Sequence[str]) -> str:
    lines = [f"{mark}) {text}" for mark, text in zip(marks, shown, strict=True)]
    return "\n" + "\n".join(lines) + "\n"


def _inline(shown: Sequence[str]) -> str:
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} or {shown[-1]}"
