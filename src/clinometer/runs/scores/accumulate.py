"""From scores of words to preferences: as an audit fills its grid, every group in every context in
an order that never changes, and again from stored scores."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts import ContextSet
from clinometer.errors import ModelError, RunError
from clinometer.measure import Preferences, membership, preference
from clinometer.measure.bounds import preference_bounds
from clinometer.models import WordScores
from clinometer.models.sampled import outcomes
from clinometer.readouts.readers import UNREAD
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import RunRecord
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt, Topic

if TYPE_CHECKING:
    from clinometer.runs.run import Run


@dataclass(frozen=True)
class CellGrid:
    """Cells are numbered group by group, in a group context by context:
    cell = group index * number of contexts + context index.

    Chunks of cells are always scored whole and are the same after an interruption, so that a
    resumed run ends with exactly the numbers of an uninterrupted one.
    """

    topic: Topic
    contexts: ContextSet
    chunk_size: int

    def __len__(self) -> int:
        return len(self.topic) * len(self.contexts)

    def chunks(self) -> Iterator[range]:
        for first in range(0, len(self), self.chunk_size):
            yield range(first, min(first + self.chunk_size, len(self)))

    def places(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Group index and context index of each cell."""
        groups, contexts = np.divmod(cells, len(self.contexts))
        return groups, contexts

    def prompts(self, cells: range | NDArray[np.int64]) -> list[Prompt]:
        groups, contexts = self.places(np.asarray(cells, dtype=np.int64))
        templates, prompts = self.contexts.templates, list[Prompt]()
        ends = [*(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        for start, stop in itertools.pairwise([0, *ends]):  # cells of one group
            some = [templates[c] for c in contexts[start:stop].tolist()]
            prompts += self.topic.render_all(some, self.topic.groups[groups[start]]) if some else []
        return prompts


class PreferenceTable:
    """Preferences of the whole grid, filled as scores come in; the scores themselves go to disk."""

    def __init__(self, grid: CellGrid, counts: NDArray[np.float64]) -> None:
        self.grid = grid
        self.counts = counts
        self.values = np.full((len(grid), counts.shape[1]), np.nan)
        self.coverage = np.full(len(grid), np.nan)
        self.skipped = np.full(len(grid), np.nan)
        #: bounds of the preferences [cells, Y], where a model returns only these
        self.low: NDArray[np.float64] | None = None
        self.high: NDArray[np.float64] | None = None
        #: recognised samples of each cell, and counts of all samples, where a model is sampled
        self.answers: NDArray[np.float64] | None = None
        self.outcomes: Counter[str] = Counter()

    def add(self, cells: NDArray[np.int64], scores: WordScores) -> None:
        """Eq. 8 on log-probabilities as stored (float32), so that measuring again
        gives the same bits."""
        self.values[cells] = preference(scores.log_probs.astype(np.float32), self.counts).p
        self.coverage[cells] = np.exp(scores.log_coverage.astype(np.float32).astype(np.float64))
        self.skipped[cells] = scores.skipped.astype(np.float32)
        if scores.log_upper is not None:
            if self.low is None or self.high is None:
                self.low, self.high = np.zeros_like(self.values), np.ones_like(self.values)
            lower, upper = (p.astype(np.float32) for p in (scores.log_probs, scores.log_upper))
            self.low[cells], self.high[cells] = preference_bounds(
                lower, np.maximum(lower, upper), self.counts
            )
        if scores.draws is not None:
            self._add_draws(cells, scores.draws, scores.unread)

    def _add_draws(
        self,
        cells: NDArray[np.int64],
        draws: tuple[tuple[str, ...], ...],
        unread: NDArray[np.float64] | None,
    ) -> None:
        """Shares of whole replies, which log-probabilities as stored hold to seven digits."""
        n = np.array([len(texts) for texts in draws])
        used = np.round(self.coverage[cells] * n)
        if self.answers is None:
            self.answers = np.zeros(len(self.grid))
        self.answers[cells] = used
        n_used = used[:, None]
        shares = np.round(self.values[cells] * n_used) / np.where(n_used > 0, n_used, 1.0)
        self.values[cells] = np.where(n_used > 0, shares, np.nan)
        if unread is None:
            prompts = self.grid.prompts(cells)
            self.outcomes.update(outcomes(prompts, self.grid.topic.words, draws))
            return
        said = {"replies": int(n.sum()), "replies_words": int(used.sum())}
        totals = zip(UNREAD.values(), unread.sum(axis=0).tolist(), strict=True)
        self.outcomes.update({**said, **{f"replies_{name}": int(total) for name, total in totals}})

    def missing(self, cells: range) -> NDArray[np.int64]:
        """Those of `cells` without scores yet."""
        return cells.start + np.flatnonzero(np.isnan(self.skipped[cells.start : cells.stop]))

    def done(self) -> int:
        """How many cells have scores."""
        return int(np.count_nonzero(~np.isnan(self.skipped)))

    def complete(self) -> bool:
        return self.done() == len(self.grid)

    def preferences(self, settings: AuditSettings) -> Preferences:
        topic, contexts = self.grid.topic, self.grid.contexts
        return Preferences(
            values=self._placed(self.values),
            groups=topic.group_names,
            contexts=contexts.ids,
            categories=topic.categories,
            context_weights=contexts.weights,
            group_weights=topic.group_weights,
            reference=topic.reference,
            criterion=settings.criterion_for(
                topic.reference, topic.categories, scale=getattr(topic.readout, "scale", None)
            ),
            coverage=self._placed(self.coverage),
            coverage_threshold=settings.coverage_threshold,
            templates=tuple(contexts.templates),
            labels=contexts.extra,
            low=None if self.low is None else self._placed(self.low),
            high=None if self.high is None else self._placed(self.high),
            answers=None if self.answers is None else self._placed(self.answers),
        )

    def _placed(self, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of cells [n, ..] as groups by contexts [X, C, ..], without a copy."""
        shape = (len(self.grid.topic), len(self.grid.contexts))
        return cells.reshape(*shape, *cells.shape[1:])

    def bounds(self) -> NDArray[np.float64]:
        """The largest possible effect of unexpanded words on a preference of each cell [X, C]."""
        most = np.where(self.skipped > 0, 1.0, 0.0)
        np.divide(self.skipped, self.coverage, out=most, where=self.coverage > self.skipped)
        return self._placed(most)


# --- Stored scores, under the same or another count of words -------------------------------------


def word_counts(
    record: RunRecord,
    *,
    shared: Literal["split", "drop"] | None = None,
    keep: Collection[str] | None = None,
) -> FloatArray:
    """How much each word counts for each category under a run's tokenizer, [V,Y].

    Words with the same tokens are one event, which counts for every category of any of them, like a
    word that a topic lists twice. Sampled answers are counted whole, so a word of several
    categories counts for none of them. `shared` and `keep` (only these words) override the run's
    own settings.
    """
    topic, words = record.topic, record.scored_words
    same = words.same_tokens
    left_out = {*words.unwritable, *words.restricted, *same}
    if keep is not None:
        left_out |= set(words.words) - set(keep)
    attributes = {
        category: [same.get(w, w) for w in members]
        for category, members in topic.attributes.items()
    }
    if record.model.kind == "sampled":
        shared = "drop"
    counts = membership(words.words, attributes, shared=shared or topic.shared)
    counts[[i for i, w in enumerate(words.words) if w in left_out]] = 0.0
    for category, total in zip(attributes, counts.sum(axis=0), strict=True):
        if total == 0:
            raise ModelError(
                f"{record.model.id}: expected a word of category {category!r} that it can score, "
                f"found none; left out: "
                f"{', '.join(sorted(left_out & set(topic.attributes[category])))}"
            )
    return counts


def has_scores(run: Run) -> bool:
    """Whether a run has stored scores of words: reference models and runs in memory have none."""
    return run.path is not None and run.record.words is not None


def stored_cells(run: Run) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], WordScores]]:
    """Group [n], context [n] and scores of the stored cells, part by part; log-probabilities [n,V]
    as the float32 that they are stored as."""
    words = run.record.scored_words.words
    if run.path is None:
        raise RunError(f"{run.model}: the run has no stored scores of words")
    X, C = run.preferences.values.shape[:2]
    n_cells = 0
    stored = RunFolder(run.path).read_scores(words=len(words), cells=X * C, repair=False)
    for cells, scores in stored:
        n_cells += len(cells)
        yield cells // C, cells % C, scores
    if n_cells != X * C:
        raise RunError(
            f"{run.path}: expected the scores of {X * C} cells, found {n_cells}; the audit's "
            "command scores the others again"
        )


def recounted(run: Run, counts: Sequence[FloatArray]) -> list[Preferences]:
    """The preferences of a run's stored scores under other counts of its words; one reading."""
    X, C, K = run.preferences.values.shape
    values = [np.full((X, C, K), np.nan) for _ in counts]
    coverage = [np.zeros((X, C)) for _ in counts]
    for x, c, scores in stored_cells(run):
        for i, count in enumerate(counts):
            cells = preference(scores.log_probs, count)
            values[i][x, c] = cells.p
            coverage[i][x, c] = np.exp(cells.log_coverage)
    return [
        replace(run.preferences, values=v, coverage=m)
        for v, m in zip(values, coverage, strict=True)
    ]
