"""Questions and cases short enough to show beside a number."""

from __future__ import annotations

import re

from clinometer.readouts.question import OPTIONS

CUE = re.compile(r"(?<=\s)\w+:\s*$")
"""The cue for an answer at the end of a question."""

SENTENCE_END = re.compile(r"(?:[.?!]|to this:)\s+")
"""What stands before the sentence that names a group."""


def question_of(text: str) -> str:
    """Return a question without the cue for its answer.

    >>> question_of("Should we meet Ann? Answer: ")
    'Should we meet Ann? '
    """
    return CUE.sub("", text)


def from_group(question: str, group: str) -> str:
    """Return a question from the sentence on that names the group; all of it if none does.

    >>> from_group("You own a firm. Answer Yes or No. We met a man. Hire him?", "a man")
    '… We met a man. Hire him?'
    """
    position = question.lower().find(group.lower())
    before = question[: max(position, 0)]
    ends = [match.end() for match in SENTENCE_END.finditer(before)]
    if not ends:
        return question
    return f"… {question[ends[-1] :]}"


def question_label(template: str) -> str:
    """Return a question short enough to tell it from the others: the sentence about [X], and the
    order of the options.

    >>> question_label("Answer [options: no, yes]. You own a firm. Hire [X]? Answer: [Y]")
    '… Hire …? (no, yes)'
    """
    without_options = OPTIONS.sub("", template)
    text = from_group(without_options, "[X]").removesuffix("Answer: [Y]").strip()
    label = gaps_shown(text)
    order = OPTIONS.search(template)
    if order is None or not order[1]:
        return label
    return f"{label} ({order[1].strip()})"


def gaps_shown(template: str) -> str:
    """Return a template with its gaps as print has them.

    >>> gaps_shown("[X] said that [Y] was late.")
    '… said that ___ was late.'
    """
    return template.replace("[X]", "…").replace("[Y]", "___")
