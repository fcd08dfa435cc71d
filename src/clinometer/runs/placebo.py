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
from clinometer.statistics.arrays import FloatArray
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
    """The edited questions of an audit."""

    topic: Topic
    """With the groups that are asked about, spread over the list."""

    groups: tuple[int, ...]
    """Their numbers [G] in the whole topic."""

    contexts: ContextSet
    """Every edit of every context."""

    edits: tuple[str, ...]
    """The names of the edits."""

    places: tuple[tuple[int, int, int], ...]
    """(edit, context, edited context), by number."""

    @classmethod
    def of(cls, topic: Topic, contexts: ContextSet) -> EditedQuestions:
        """Return those of a topic of questions; words, and questions that cannot be edited, are an
        error.

        >>> from clinometer.contexts.load import default_contexts
        >>> from clinometer.topics import load_topic
        >>> hiring = load_topic("hiring")
        >>> edited = EditedQuestions.of(hiring, default_contexts(hiring))
        >>> len(edited.topic), len(edited.contexts), edited.edits[:2]
        (4, 400, ('blank line', 'weekday'))
        """
        if not topic.readout.asks:
            raise SettingsError(
                "placebo: expected a topic of questions, such as hiring, or an own prompt; found "
                f"{topic.name!r}: shuffled words are the floor of word topics"
            )
        templates = list(contexts.templates)
        used = set(templates)
        edited: list[str] = []
        edit_names: list[str] = []
        numbers: dict[str, int] = {}
        places: list[tuple[int, int, int]] = []
        for c, template in enumerate(templates):
            for name, text in irrelevant_edits(template, topic.language).items():
                if text not in used:
                    used.add(text)
                    number = numbers.setdefault(name, len(numbers))
                    places.append((number, c, len(edited)))
                    edited.append(text)
                    edit_names.append(name)
        if not edited:
            raise SettingsError(
                f"placebo: expected questions that can be edited, found none in {contexts.name!r}"
            )
        n_groups = min(MOST_GROUPS, len(topic))
        groups = tuple(i * len(topic) // n_groups for i in range(n_groups))
        return cls(
            topic=topic.select(topic.group_names[i] for i in groups),
            groups=groups,
            contexts=ContextSet(
                f"{contexts.name}-{FOLDER}",
                edited,
                [contexts.counts[c] for _, c, _ in places],
                {"edit": edit_names},
            ),
            edits=tuple(numbers),
            places=tuple(places),
        )

    def preferences(self, run: Preferences, edited: Preferences) -> Preferences:
        """Return edits × texts (a group in a context), the first edit being the text as it was; the
        label `context` of a text is its context in `run`."""
        groups = list(self.groups)
        answers = None
        if run.answers is not None and edited.answers is not None:
            answers = self._by_edit(run.answers[groups], edited.answers, missing=0.0)
        weights = run.group_weights[groups, None] * np.atleast_2d(run.context_weights)
        n_rows = 1 + len(self.edits)
        return replace(
            run,
            values=self._by_edit(run.values[groups], edited.values, missing=np.nan),
            answers=answers,
            groups=(UNEDITED, *self.edits),
            contexts=tuple(
                f"{run.groups[x]} · {c}" for x in groups for c in run.contexts
            ),
            context_weights=(weights / weights.sum()).ravel(),
            group_weights=np.full(n_rows, 1 / n_rows),
            reference="group-mean",
            coverage=None,
            low=None,
            high=None,
            templates=(),
            labels={"context": run.contexts * len(groups)},
        )

    def _by_edit(
        self, unedited: FloatArray, edited: FloatArray, *, missing: float
    ) -> FloatArray:
        """Return numbers of texts [G,C,..] and of edited texts [G,E,..] as one array [1+N,G*C,..],
        the texts as they were first; `missing` where a context has no such edit."""
        X, C, *rest = unedited.shape
        rows = np.full((1 + len(self.edits), X, C, *rest), missing)
        rows[0] = unedited
        for edit, context, number in self.places:
            rows[1 + edit, :, context] = edited[:, number]
        return rows.reshape(len(rows), X * C, *rest)
