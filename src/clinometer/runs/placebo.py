"""Irrelevant edits of the questions of an audit: how far do they move an answer?

The edited questions are asked in the same call and stored in the folder `placebo` of the run: the
same model and settings, every edit in every context, for some of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.measure import Preferences
from clinometer.measure.components import CellMoments, Placebo, compare_placebo
from clinometer.measure.criterion import Criterion
from clinometer.topics import Topic
from clinometer.topics.edits import irrelevant_edits

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
                    places.append((names.setdefault(name, len(names)), c, len(templates)))
                    templates.append(text)
                    labels.append(name)
        if not templates:
            raise SettingsError(
                f"placebo: expected questions that can be edited, found none in {contexts.name!r}"
            )
        n = min(MOST_GROUPS, len(topic))
        groups = tuple(i * len(topic) // n for i in range(n))
        counts = [contexts.counts[c] for _, c, _ in places]
        made = ContextSet(f"{contexts.name}-{FOLDER}", templates, counts, {"edit": labels})
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
        if answers is not None and run.answers is not None and edited.answers is not None:
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
    units = None if clusters is None else preferences.label(clusters)
    groups = replace(preferences, criterion=criterion)
    edited = CellMoments.of(replace(edits, criterion=criterion).grid, edits.answers)
    return compare_placebo(
        CellMoments.of(groups.grid, preferences.answers, clusters=units),
        edited if seen.all() else edited.only(seen),
        edits.groups,
        np.array([c for c in at if c >= 0]),
        level=level,
    )
