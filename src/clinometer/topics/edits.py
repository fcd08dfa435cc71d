"""Edits of a question that should move no answer: the floor of decisions.

Each is made by rule from the text of the question, the same every time. Where there is nothing to
edit (no list of lines to reorder, no word with a synonym) the question has no such edit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain, groupby

from clinometer.topics.conversation import END, ROLES, Parts, is_conversation, joined, parts_of
from clinometer.topics.prompt import Y
from clinometer.topics.questions import BLANK_LINE

#: Sentences that say nothing about the question, by the name of the edit.
SENTENCES = {
    "weekday": "Today is Tuesday.",
    "weather": "It is raining outside.",
    "car colour": "A red car is parked outside.",
}
#: Words of an instruction and others for them; the first that a text has are replaced.
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
#: Not a quoted name ("answer": …), not what stands before the reply (Answer:), not after "an".
_WORD = r"(?<![\w\"'`<])(?<!\ba )(?<!\ban ){}(?![\w\"'`>:])"
_SENTENCE_END = re.compile(r"(?<=[.?!]) ")
_ITEM = re.compile(r"\s*[-*•] \S|\w[\w /-]{0,30}: \S")

Change = Callable[[str], str | None]


def irrelevant_edits(template: str, language: str) -> dict[str, str]:
    """The template after each edit that fits it, by the name of the edit.

    Sentences and synonyms are English; other languages have the edits without words.

    >>> edits = irrelevant_edits("Invite [X]? Answer [options]. Decision: [Y]", "en")
    >>> list(edits)
    ['blank line', 'weekday', 'weather', 'car colour', 'synonym']
    >>> edits["weekday"], edits["synonym"]
    ('Today is Tuesday. Invite [X]? Answer [options]. Decision: [Y]', \
'Invite [X]? Reply [options]. Decision: [Y]')
    """
    english = language.lower().split("-")[0] == "en"
    said = SENTENCES if english else {}
    made: dict[str, Change] = {
        "blank line": _blank_line,
        **{name: _with_sentence(sentence) for name, sentence in said.items()},
        "lines reordered": _reordered,
        **({"synonym": _synonym} if english else {}),
    }
    whole = not is_conversation(template)
    found = {
        name: change(template) if whole else _edited_part(template, change)
        for name, change in made.items()
    }
    return {name: text for name, text in found.items() if text is not None and text != template}


def _edited_part(template: str, change: Change) -> str | None:
    """Messages, or a record, with one of them edited: the last one by the user, or the longest
    field that is a text; where that has nothing to edit, another."""
    parts = parts_of(template)
    for i in _by_rank(parts):
        text = parts[i][1]
        new = change(text)
        if new is not None and new != text:
            return joined([*parts[:i], (parts[i][0], new), *parts[i + 1 :]]) + END + Y
    return None


def _by_rank(parts: Parts) -> list[int]:
    if all(role in ROLES for role, _ in parts):
        return sorted(range(len(parts)), key=lambda i: (parts[i][0] != "user", -i))
    texts = [i for i, (_, text) in enumerate(parts) if len(text.split()) > 2]
    return sorted(texts, key=lambda i: -len(parts[i][1]))


def _with_sentence(sentence: str) -> Change:
    def before(text: str) -> str:
        return f"{sentence}{' ' if text.endswith(Y) else chr(10)}{text}"

    return before


def _blank_line(text: str) -> str | None:
    """Before the last sentence of a question; after the first line of a message."""
    if not text.endswith(Y):
        first, _, rest = text.partition("\n")
        return f"{first}\n\n{rest}"
    ends = [m.end() for m in _SENTENCE_END.finditer(text)]
    ends = [at for at in ends if text[at:] != Y and not _inside(text, at)]
    return f"{text[: ends[-1]]}{BLANK_LINE} {text[ends[-1] :]}" if ends else None


def _reordered(text: str) -> str | None:
    """The longest list of lines (- item, or Name: value) in the opposite order."""
    runs = [list(run) for _, run in groupby(text.split("\n"), lambda line: bool(_ITEM.match(line)))]
    lists = [run for run in runs if len(run) > 1 and _ITEM.match(run[0])]
    if not lists:
        return None
    max(lists, key=len).reverse()
    return "\n".join(chain.from_iterable(runs))


def _synonym(text: str) -> str | None:
    for word, other in SYNONYMS.items():
        for found in re.finditer(_WORD.format(word), text, re.IGNORECASE):
            if not _inside(text, found.start()):
                new = other.capitalize() if found[0][0].isupper() else other
                return f"{text[: found.start()]}{new}{text[found.end() :]}"
    return None


def _inside(text: str, at: int) -> bool:
    """Whether a place is in brackets ([options: …]) or braces ({"answer": …})."""
    return any(text.count(a, 0, at) > text.count(b, 0, at) for a, b in ("[]", "{}"))
