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

    def __init__(
        self, grid: Grid, counts: NDArray[np.float64], earlier: PreferenceTable | None = None
    ) -> None:
        """`earlier` is the table before the last round; its cells are the first of this one."""
        self.grid = grid
        self.counts = counts
        self.values = np.full((len(grid), counts.shape[1]), np.nan)
        self.coverage = np.full(len(grid), np.nan)
        self.skipped = np.full(len(grid), np.nan)
        if earlier is not None:
            known = len(earlier.grid)
            self.values[:known] = earlier.values
            self.coverage[:known] = earlier.coverage
            self.skipped[:known] = earlier.skipped

    def add(self, cells: NDArray[np.int64] | range, scores: WordScores) -> None:
        """Eq. 8 over log-probabilities as they are stored (float32), so that a replay gives the
        same bits."""
        where = slice(cells.start, cells.stop) if isinstance(cells, range) else cells
        self.values[where] = preference(scores.log_probs.astype(np.float32), self.counts).p
        self.coverage[where] = np.exp(scores.log_coverage.astype(np.float32).astype(np.float64))
        self.skipped[where] = scores.skipped.astype(np.float32)

    def has(self, cells: range) -> bool:
        return not bool(np.isnan(self.skipped[cells.start : cells.stop]).any())

    def complete(self) -> bool:
        return self.has(range(len(self.grid)))

    def preferences(self, settings: AuditSettings) -> Preferences:
        topic, contexts = self.grid.topic, self.grid.contexts
        shape = (len(topic), len(contexts))
        where = self.grid.places(np.arange(len(self.grid), dtype=np.int64))
        values, coverage = np.empty((*shape, self.values.shape[1])), np.empty(shape)
        values[where], coverage[where] = self.values, self.coverage
        drawn = "drawn" in contexts.metadata
        return Preferences(
            values=values,
            groups=topic.group_names,
            contexts=contexts.ids,
            categories=topic.categories,
            context_weights=np.array(contexts.counts) if drawn else contexts.weights,
            group_weights=topic.group_weights,
            reference=None if topic.reference is None else np.array(topic.reference),
            coverage=coverage,
            coverage_threshold=settings.coverage_threshold,
            templates=tuple(contexts.templates),
            drawn=drawn,
            labels=contexts.extra,
        )

    def largest_bound(self) -> float:
        """The most that unexpanded words can have moved any preference."""
        total = self.coverage + self.skipped
        share = np.divide(self.skipped, total, out=np.zeros_like(total), where=total > 0)
        return float(share.max())
