"""Irrelevant edits of the questions of an audit: how far do they move an answer?

The edited questions are asked in the same call and stored in the folder `placebo` of the run: the
same model and settings, every edit in every context, for some of the groups. The edits are made by
rule from the text of the question, the same every time; where there is nothing to edit (no list of
lines to reorder, no word with a synonym) a question has no such edit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, groupby

import numpy as np

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.measure import Preferences
from clinometer.measure.components import CellMoments, Deviations
from clinometer.measure.criterion import Criterion
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.intervals.student import fieller
from clinometer.topics import Topic
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

FOLDER = "placebo"
"""The folder of the edited questions, in that of the run."""

UNEDITED = "as it was"
"""The name of the text that irrelevant edits change."""

MOST_GROUPS = 4
"""Groups whose questions are edited: contexts are what an interval rests on."""


@dataclass(frozen=True, eq=False)
class EditedQuestions:
    """The edited questions of an audit.

    topic     with the groups that are asked about, spread over the list
    groups    [G] their numbers in the whole topic
    contexts  every edit of every context
    edits     names of the edits
    places    (edit, context, edited context), by number
    """

    topic: Topic
    groups: tuple[int, ...]
    contexts: ContextSet
    edits: tuple[str, ...]
    places: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, topic: Topic, contexts: ContextSet) -> EditedQuestions:
        """Those of a topic of questions; words, and questions that cannot be edited, are an error.

        >>> from clinometer.contexts.load import default_contexts
        >>> from clinometer.topics import load_topic
        >>> hiring = load_topic("hiring")
        >>> edited = EditedQuestions.of(hiring, default_contexts(hiring))
        >>> len(edited.topic), len(edited.contexts), edited.edits[:2]
        (4, 400, ('blank line', 'weekday'))
        """
        if topic.readout is None:
            raise SettingsError(
                "placebo: expected a topic of questions, such as hiring, or an own prompt; found "
                f"{topic.name!r}: shuffled words are the floor of word topics"
            )
        known = set(contexts.templates)
        names: dict[str, int] = {}
        templates: list[str] = []
        labels: list[str] = []
        places: list[tuple[int, int, int]] = []
        for c, template in enumerate(contexts.templates):
            for name, text in irrelevant_edits(template, topic.language).items():
                if text not in known:
                    known.add(text)
                    places.append(
                        (names.setdefault(name, len(names)), c, len(templates))
                    )
                    templates.append(text)
                    labels.append(name)
        if not templates:
            raise SettingsError(
                f"placebo: expected questions that can be edited, found none in {contexts.name!r}"
            )
        n = min(MOST_GROUPS, len(topic))
        groups = tuple(i * len(topic) // n for i in range(n))
        counts = [contexts.counts[c] for _, c, _ in places]
        made = ContextSet(
            f"{contexts.name}-{FOLDER}", templates, counts, {"edit": labels}
        )
        some = topic.select(topic.group_names[i] for i in groups)
        return cls(some, groups, made, tuple(names), tuple(places))

    def preferences(self, run: Preferences, edited: Preferences) -> Preferences:
        """Edits × texts (a group in a context), the first edit being the text as it was; the label
        `context` of a text is its context in `run`."""
        X, C, K = len(self.groups), len(run.contexts), len(run.categories)
        at = list(self.groups)
        values = np.full((1 + len(self.edits), X, C, K), np.nan)
        answers = None if run.answers is None else np.zeros(values.shape[:3])
        values[0] = run.values[at]
        edit, context, number = np.array(self.places).T
        values[1 + edit, :, context] = edited.values[:, number].swapaxes(0, 1)
        if (
            answers is not None
            and run.answers is not None
            and edited.answers is not None
        ):
            answers[0] = run.answers[at]
            answers[1 + edit, :, context] = edited.answers[:, number].T
        weights = run.group_weights[at, None] * np.atleast_2d(run.context_weights)
        texts = tuple(f"{run.groups[x]} · {c}" for x in at for c in run.contexts)
        return replace(
            run,
            values=values.reshape(len(values), X * C, K),
            answers=None if answers is None else answers.reshape(len(values), X * C),
            groups=(UNEDITED, *self.edits),
            contexts=texts,
            context_weights=(weights / weights.sum()).ravel(),
            group_weights=np.full(len(values), 1 / len(values)),
            reference="group-mean",
            coverage=None,
            low=None,
            high=None,
            templates=(),
            labels={"context": run.contexts * X},
        )


@dataclass(frozen=True)
class Placebo:
    """Irrelevant edits beside the groups: how far two of each differ, without dice.

    edits   what was edited; the first is the text as it was
    groups  how far two groups differ (root mean square), in points of the scale or shares
    edit    how far two edits of one text differ
    ratio   groups to edits, with Fieller's interval; None where the edits move nothing. No upper
            end: the edits may move nothing
    """

    edits: tuple[str, ...]
    groups: float
    edit: float
    ratio: float | None
    low: float | None
    high: float | None
    level: float


def placebo_of(
    preferences: Preferences,
    edits: Preferences,
    criterion: Criterion,
    *,
    level: float,
    clusters: str | None,
) -> Placebo:
    """How far groups differ beside irrelevant edits, whose label `context` is the context of
    `preferences` that they edit; `clusters` is the label of contexts that are one unit."""
    number = {context: c for c, context in enumerate(preferences.contexts)}
    at = [number.get(context, -1) for context in edits.labels["context"]]
    seen = np.array([c >= 0 for c in at])
    contexts = np.array([c for c in at if c >= 0])
    units = None if clusters is None else preferences.label(clusters)
    groups = CellMoments.of(
        replace(preferences, criterion=criterion).grid,
        preferences.answers,
        clusters=units,
    )
    known = replace(edits, criterion=criterion).only(
        contexts=np.flatnonzero(seen).tolist()
    )
    edited = CellMoments.of(known.grid, known.answers)
    moved, weights = pair_squares(groups)
    squares, share = pair_squares(edited)
    mass = np.bincount(contexts, share, len(moved))
    squares = np.bincount(contexts, share * squares, len(moved)) / np.where(
        mass > 0, mass, 1.0
    )
    weights = np.where(mass > 0, weights, 0.0)
    weights = weights / (weights.sum() or 1.0)
    pairs = [
        np.bincount(groups.units, weights * z).astype(float) for z in (moved, squares)
    ]
    top, bottom = (float(z.sum()) for z in pairs)
    low: float | None = None
    high: float | None = None
    both = np.bincount(groups.units, weights) > 0
    if (n := int(both.sum())) > 2:
        low, high = fieller(n * pairs[0][both], n * pairs[1][both], level=level)
    return Placebo(
        edits.groups,
        math.sqrt(max(top, 0.0)),
        math.sqrt(max(bottom, 0.0)),
        math.sqrt(max(top, 0.0) / bottom) if bottom > ROUNDING else None,
        None if low is None else math.sqrt(max(low, 0.0)),
        None if high is None else math.sqrt(max(high, 0.0)),
        level,
    )


def pair_squares(cells: CellMoments) -> tuple[FloatArray, FloatArray]:
    """[C], how far two of the groups differ in each context, squared and without dice, and the
    weights of the contexts; 0 for a context with fewer than two groups."""
    d = Deviations.of(replace(cells, centre=None))
    share = np.where(cells.n > 0, d.groups[:, None], 0.0)
    share = share / np.maximum(share.sum(axis=0), 1e-300)
    apart = 1 - (share**2).sum(axis=0)
    square = 2 * (share * ((d.d**2).sum(axis=-1) - d.noise)).sum(axis=0)
    some = (cells.n > 0).sum(axis=0) > 1
    weights = np.where(some, cells.weights, 0.0)
    each = np.where(some, square / np.where(some, apart, 1.0), 0.0)
    return each, weights / (weights.sum() or 1.0)


# --- The edits ------------------------------------------------------------------------------------

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
    return {
        name: text
        for name, text in found.items()
        if text is not None and text != template
    }


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
    runs = [
        list(run)
        for _, run in groupby(text.split("\n"), lambda line: bool(_ITEM.match(line)))
    ]
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
