"""From scores of words to preferences, as an audit fills its grid.

The grid has every group in every context, in an order that never changes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts import ContextSet
from clinometer.errors import ModelError
from clinometer.measure import Preferences, membership, preference
from clinometer.measure.bounds import preference_bounds
from clinometer.models import WordScores
from clinometer.models.sampled import outcomes
from clinometer.readouts.reply import UNREAD
from clinometer.runs.folder.record import RunRecord
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt, Topic


@dataclass(frozen=True)
class CellGrid:
    """Every group in every context, as numbered cells.

    Cells are numbered group by group, in a group context by context:
    cell = group index * number of contexts + context index.

    Chunks of cells are always scored whole and are the same after an interruption, so that a
    resumed run ends with exactly the numbers of an uninterrupted one.
    """

    topic: Topic
    contexts: ContextSet

    chunk_size: int
    """Cells that are scored together."""

    def __len__(self) -> int:
        return len(self.topic) * len(self.contexts)

    def chunks(self) -> Iterator[range]:
        for first in range(0, len(self), self.chunk_size):
            yield range(first, min(first + self.chunk_size, len(self)))

    def indices(
        self, cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the group index and the context index of each cell."""
        groups, contexts = np.divmod(cells, len(self.contexts))
        return groups, contexts

    def prompts(self, cells: range | NDArray[np.int64]) -> list[Prompt]:
        """Return the prompts of cells, rendered for each group at once."""
        groups, contexts = self.indices(np.asarray(cells, dtype=np.int64))
        first_of_next_group = np.flatnonzero(np.diff(groups)) + 1
        borders = [0, *first_of_next_group.tolist(), len(groups)]
        prompts: list[Prompt] = []
        for start, stop in itertools.pairwise(borders):
            if start == stop:  # there are no cells at all
                continue
            group = self.topic.groups[groups[start]]
            templates = [
                self.contexts.templates[context]
                for context in contexts[start:stop].tolist()
            ]
            prompts += self.topic.render_all(templates, group)
        return prompts


class PreferenceTable:
    """Preferences of the whole grid, filled as scores come in; the scores themselves go to disk."""

    def __init__(self, grid: CellGrid, counts: NDArray[np.float64]) -> None:
        n_cells = len(grid)
        self.grid = grid

        self.counts = counts
        """How much each word counts for each category [V, Y]."""

        self.values = np.full((n_cells, counts.shape[1]), np.nan)
        self.coverage = np.full(n_cells, np.nan)

        self.skipped = np.full(n_cells, np.nan)
        """The probability of unexpanded words in each cell; NaN for a cell without scores."""

        self.low: NDArray[np.float64] | None = None
        """Lower bounds of the preferences [cells, Y], where a model returns only bounds."""

        self.high: NDArray[np.float64] | None = None
        """Upper bounds, where there are lower ones."""

        self.answers: NDArray[np.float64] | None = None
        """Recognised samples of each cell, where a model is sampled."""

        self.outcomes: Counter[str] = Counter()
        """Counts of all samples, where a model is sampled."""

    def add(self, cells: NDArray[np.int64], scores: WordScores) -> None:
        """Add the preferences (Eq. 8) of cells.

        They come from log-probabilities as stored (float32), so that measuring again gives the same
        bits.
        """
        log_probs = scores.log_probs.astype(np.float32)
        log_coverage = scores.log_coverage.astype(np.float32).astype(np.float64)
        self.values[cells] = preference(log_probs, self.counts).p
        self.coverage[cells] = np.exp(log_coverage)
        self.skipped[cells] = scores.skipped.astype(np.float32)
        if scores.log_upper is not None:
            self._add_bounds(cells, log_probs, scores.log_upper.astype(np.float32))
        if scores.draws is not None:
            self._add_draws(cells, scores.draws, scores.unread)

    def _add_bounds(
        self,
        cells: NDArray[np.int64],
        log_lower: NDArray[np.float32],
        log_upper: NDArray[np.float32],
    ) -> None:
        """Add bounds of preferences, for cells whose words are only bounded."""
        if self.low is None or self.high is None:
            self.low = np.zeros_like(self.values)
            self.high = np.ones_like(self.values)
        self.low[cells], self.high[cells] = preference_bounds(
            log_lower, np.maximum(log_lower, log_upper), self.counts
        )

    def _add_draws(
        self,
        cells: NDArray[np.int64],
        draws: tuple[tuple[str, ...], ...],
        unread: NDArray[np.float64] | None,
    ) -> None:
        """Add shares of whole replies, which log-probabilities as stored hold to seven digits."""
        n_replies = np.array([len(texts) for texts in draws])
        n_recognised = np.round(self.coverage[cells] * n_replies)
        if self.answers is None:
            self.answers = np.zeros(len(self.grid))
        self.answers[cells] = n_recognised

        total = n_recognised[:, None]
        counts = np.round(self.values[cells] * total)
        shares = counts / np.where(total > 0, total, 1.0)
        self.values[cells] = np.where(total > 0, shares, np.nan)

        if unread is None:
            prompts = self.grid.prompts(cells)
            self.outcomes.update(outcomes(prompts, self.grid.topic.words, draws))
            return
        self.outcomes["replies"] += int(n_replies.sum())
        self.outcomes["replies_words"] += int(n_recognised.sum())
        for name, n in zip(UNREAD.values(), unread.sum(axis=0).tolist(), strict=True):
            self.outcomes[f"replies_{name}"] += int(n)

    def missing(self, cells: range) -> NDArray[np.int64]:
        """Return those of `cells` without scores yet."""
        skipped = self.skipped[cells.start : cells.stop]
        return cells.start + np.flatnonzero(np.isnan(skipped))

    def done(self) -> int:
        """Return how many cells have scores."""
        return int(np.count_nonzero(~np.isnan(self.skipped)))

    def complete(self) -> bool:
        return self.done() == len(self.grid)

    def preferences(self, settings: AuditSettings) -> Preferences:
        topic = self.grid.topic
        contexts = self.grid.contexts
        criterion = settings.criterion_for(
            topic.reference,
            topic.categories,
            scale=getattr(topic.readout, "scale", None),
        )
        return Preferences(
            values=self._by_group(self.values),
            groups=topic.group_names,
            contexts=contexts.ids,
            categories=topic.categories,
            context_weights=contexts.weights,
            group_weights=topic.group_weights,
            reference=topic.reference,
            criterion=criterion,
            coverage=self._by_group(self.coverage),
            coverage_threshold=settings.coverage_threshold,
            templates=tuple(contexts.templates),
            labels=contexts.extra,
            low=None if self.low is None else self._by_group(self.low),
            high=None if self.high is None else self._by_group(self.high),
            answers=None if self.answers is None else self._by_group(self.answers),
        )

    def _by_group(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of cells [n, ..] as groups by contexts [X, C, ..], without a copy."""
        shape = (len(self.grid.topic), len(self.grid.contexts))
        return values.reshape(*shape, *values.shape[1:])

    def bounds(self) -> NDArray[np.float64]:
        """Return the largest possible effect of unexpanded words on a preference of each cell
        [X, C]."""
        effect = np.where(self.skipped > 0, 1.0, 0.0)
        np.divide(
            self.skipped, self.coverage, out=effect, where=self.coverage > self.skipped
        )
        return self._by_group(effect)


def word_counts(
    record: RunRecord,
    *,
    shared: Literal["split", "drop"] | None = None,
    keep: Collection[str] | None = None,
) -> FloatArray:
    """Return how much each word counts for each category under a run's tokenizer, [V,Y].

    Words with the same tokens are one event, which counts for every category of any of them, like a
    word that a topic lists twice. Sampled answers are counted whole, so a word of several
    categories counts for none of them. `shared` and `keep` (only these words) override the run's
    own settings.
    """
    topic = record.topic
    words = record.scored_words
    left_out = {*words.unwritable, *words.restricted, *words.same_tokens}
    if keep is not None:
        left_out |= set(words.words) - set(keep)
    attributes = {
        category: [words.same_tokens.get(word, word) for word in members]
        for category, members in topic.attributes.items()
    }
    if record.model.kind == "sampled":
        shared = "drop"
    counts = membership(words.words, attributes, shared=shared or topic.shared)
    counts[[word in left_out for word in words.words]] = 0.0
    for category, total in zip(attributes, counts.sum(axis=0), strict=True):
        if total == 0:
            unscored = sorted(left_out & set(topic.attributes[category]))
            raise ModelError(
                f"{record.model.id}: expected a word of category {category!r} that it can score, "
                f"found none; left out: {', '.join(unscored)}"
            )
    return counts
