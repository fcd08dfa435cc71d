"""Irrelevant edits of a question: texts that should not move an answer.

They are made by rule from the text, the same every time; where there is nothing to edit (no list of
lines to reorder, no word with a synonym) a question has no such edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from clinometer.topics.conversation import (
    END,
    ROLES,
    Parts,
    is_conversation,
    joined,
    parts_of,
)
from clinometer.topics.prompt import Y
from clinometer.topics.questions import BLANK_LINE

SENTENCES = {
    "weekday": "Today is Tuesday.",
    "weather": "It is raining outside.",
    "car colour": "A red car is parked outside.",
}
"""Sentences that say nothing about the question, by the name of the edit."""

SYNONYMS = {
    "answer": "reply",
    "reply": "answer",
    "respond": "answer",
    "please": "kindly",
    "decide": "determine",
    "choose": "select",
    "evaluate": "assess",
    "assess": "evaluate",
    "rate from": "grade from",
    "give a number": "state a number",
    "write": "compose",
}
"""Words of an instruction and others for them; the first that a text has are replaced."""

WORD = r"(?<![\w\"'`<])(?<!\ba )(?<!\ban ){}(?![\w\"'`>:])"
"""Not a quoted name ("answer": …), not what stands before the reply (Answer:), not after "an"."""

SENTENCE_END = re.compile(r"(?<=[.?!]) ")
ITEM = re.compile(r"\s*[-*•] \S|\w[\w /-]{0,30}: \S")

Change = Callable[[str], str | None]
"""An edit: the edited text, or None where there is nothing to edit."""


def irrelevant_edits(template: str, language: str) -> dict[str, str]:
    """Return the template after each edit that fits it, by the name of the edit.

    Sentences and synonyms are English; other languages have the edits without words.

    >>> edits = irrelevant_edits("Invite [X]? Answer [options]. Decision: [Y]", "en")
    >>> list(edits)
    ['blank line', 'weekday', 'weather', 'car colour', 'synonym']
    >>> edits["weekday"], edits["synonym"]
    ('Today is Tuesday. Invite [X]? Answer [options]. Decision: [Y]', \
'Invite [X]? Reply [options]. Decision: [Y]')
    """
    english = language.lower().split("-")[0] == "en"
    changes: dict[str, Change] = {"blank line": _with_blank_line}
    if english:
        for name, sentence in SENTENCES.items():
            changes[name] = _with_sentence(sentence)
    changes["lines reordered"] = _with_lines_reversed
    if english:
        changes["synonym"] = _with_synonym
    edited: dict[str, str] = {}
    for name, change in changes.items():
        text = _edited(template, change)
        if text is not None and text != template:
            edited[name] = text
    return edited


def _edited(template: str, change: Change) -> str | None:
    """Return a template with a question, or one of its parts, edited."""
    if is_conversation(template):
        return _edited_part(template, change)
    return change(template)


def _edited_part(template: str, change: Change) -> str | None:
    """Return messages, or a record, with one of them edited: the last one by the user, or the
    longest field that is a text; where that has nothing to edit, another."""
    parts = parts_of(template)
    for i in _by_rank(parts):
        name, text = parts[i]
        edited = change(text)
        if edited is not None and edited != text:
            return joined([*parts[:i], (name, edited), *parts[i + 1 :]]) + END + Y
    return None


def _by_rank(parts: Parts) -> list[int]:
    """Return which messages, or fields, are to be edited first."""
    if all(role in ROLES for role, _ in parts):
        return sorted(range(len(parts)), key=lambda i: (parts[i][0] != "user", -i))
    texts = [i for i, (_, text) in enumerate(parts) if len(text.split()) > 2]
    return sorted(texts, key=lambda i: -len(parts[i][1]))


def _with_sentence(sentence: str) -> Change:
    """Return the edit that puts a sentence before a text; before a message on a line of its own."""

    def change(text: str) -> str:
        space = " " if text.endswith(Y) else "\n"
        return f"{sentence}{space}{text}"

    return change


def _with_blank_line(text: str) -> str | None:
    """Return a text with a blank line before the last sentence of a question, or after the first
    line of a message."""
    if not text.endswith(Y):
        first, _, rest = text.partition("\n")
        return f"{first}\n\n{rest}"
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    ends = [end for end in ends if text[end:] != Y and not _in_brackets(text, end)]
    if not ends:
        return None
    return f"{text[: ends[-1]]}{BLANK_LINE} {text[ends[-1] :]}"


def _with_lines_reversed(text: str) -> str | None:
    """Return a text with its longest list of lines (- item, or Name: value) in the opposite
    order."""
    lines = text.split("\n")
    blocks = [
        (is_list, list(block))
        for is_list, block in groupby(lines, lambda line: bool(ITEM.match(line)))
    ]
    lists = [block for is_list, block in blocks if is_list and len(block) > 1]
    if not lists:
        return None
    max(lists, key=len).reverse()
    reordered: list[str] = []
    for _, block in blocks:
        reordered += block
    return "\n".join(reordered)


def _with_synonym(text: str) -> str | None:
    """Return a text with the first word of `SYNONYMS` that it has replaced."""
    for word, synonym in SYNONYMS.items():
        for match in re.finditer(WORD.format(word), text, re.IGNORECASE):
            if not _in_brackets(text, match.start()):
                is_capital = match[0][0].isupper()
                new = synonym.capitalize() if is_capital else synonym
                return f"{text[: match.start()]}{new}{text[match.end() :]}"
    return None


def _in_brackets(text: str, index: int) -> bool:
    """Return whether a place is in brackets ([options: …]) or braces ({"answer": …})."""
    return any(
        text.count(opening, 0, index) > text.count(closing, 0, index)
        for opening, closing in ("[]", "{}")
    )
