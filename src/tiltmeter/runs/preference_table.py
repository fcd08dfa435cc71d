"""Preferences of the whole grid, filled as scores come in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measure import preference
from tiltmeter.models import WordScores
from tiltmeter.runs.grid import Grid
from tiltmeter.runs.preferences import Preferences
from tiltmeter.runs.settings import AuditSettings


class PreferenceTable:
    """Preferences of the whole grid, filled as scores come in; the scores themselves go to disk."""

    def __init__(self, grid: Grid, counts: NDArray[np.float64]) -> None:
        self.grid = grid
        self.counts = counts
        self.values = np.full((len(grid), counts.shape[1]), np.nan)
        self.coverage = np.full(len(grid), np.nan)
        self.skipped = np.full(len(grid), np.nan)

    def add(self, cells: NDArray[np.int64], scores: WordScores) -> None:
        """Eq. 8 over log-probabilities as they are stored (float32), so that a replay gives the
        same bits."""
        self.values[cells] = preference(scores.log_probs.astype(np.float32), self.counts).p
        self.coverage[cells] = np.exp(scores.log_coverage.astype(np.float32).astype(np.float64))
        self.skipped[cells] = scores.skipped.astype(np.float32)

    def missing(self, cells: range) -> NDArray[np.int64]:
        """Those of the cells that have no scores yet."""
        return cells.start + np.flatnonzero(np.isnan(self.skipped[cells.start : cells.stop]))

    def done(self) -> int:
        """How many cells have scores."""
        return int(np.count_nonzero(~np.isnan(self.skipped)))

    def complete(self) -> bool:
        return self.done() == len(self.grid)

    def preferences(self, settings: AuditSettings) -> Preferences:
        topic, contexts = self.grid.topic, self.grid.contexts
        shape = (len(topic), len(contexts))
        return Preferences(
            values=self.values.reshape(*shape, -1),
            groups=topic.group_names,
            contexts=contexts.ids,
            categories=topic.categories,
            context_weights=contexts.weights,
            group_weights=topic.group_weights,
            reference=None if topic.reference is None else np.array(topic.reference),
            coverage=self.coverage.reshape(shape),
            coverage_threshold=settings.coverage_threshold,
            templates=tuple(contexts.templates),
            drawn="drawn" in contexts.metadata,
        )

    def largest_bound(self) -> float:
        """The most that unexpanded words can have moved any preference."""
        total = self.coverage + self.skipped
        share = np.divide(self.skipped, total, out=np.zeros_like(total), where=total > 0)
        return float(share.max())
