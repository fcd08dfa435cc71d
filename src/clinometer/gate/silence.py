"""Answers that a baseline gives and a run does not: they count against the run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clinometer.display.numbers import counted, percent
from clinometer.gate.row import GatedRow
from clinometer.runs import Run


@dataclass(frozen=True)
class Silence:
    """Answers that the run lacks, among the groups and contexts that both runs have."""

    groups: tuple[str, ...]
    """The groups that the run says nothing about."""

    cells: int
    """The number of answers that the run lacks."""

    share: float
    """Their share of the weight of the baseline's answers that the run was asked for, too."""

    compared: float
    """The share of the weight of all of the baseline's answers that the run was asked for."""

    @classmethod
    def of(cls, run: Run, baseline: Run) -> Silence:
        """Return what the run lacks of the baseline's answers."""
        p, q = run.preferences, baseline.preferences
        groups = [group for group in p.groups if group in q.groups]
        contexts = [context for context in p.contexts if context in q.contexts]
        cells_of_run = np.ix_(
            [p.groups.index(group) for group in groups],
            [p.contexts.index(context) for context in contexts],
        )
        cells_of_baseline = np.ix_(
            [q.groups.index(group) for group in groups],
            [q.contexts.index(context) for context in contexts],
        )
        answered = q.observed[cells_of_baseline]
        lacking = answered & ~p.observed[cells_of_run]
        all_weights = q.grid.context_weights * q.group_weights[:, None] * q.observed
        weights = all_weights[cells_of_baseline]
        total = float(all_weights.sum())
        asked = float(weights.sum())
        silent = (lacking == answered).all(axis=1) & (weights > 0).any(axis=1)
        return cls(
            groups=tuple(groups[i] for i in np.flatnonzero(silent)),
            cells=int(lacking.sum()),
            share=float((weights * lacking).sum()) / asked if asked else 0.0,
            compared=asked / total if total else 0.0,
        )

    def counted(self, row: GatedRow, baseline: Run) -> GatedRow:
        """Return the row with the silence counted against the run: a model that does not answer
        where its baseline leans most would pass otherwise."""
        if self.groups:
            return replace(row, verdict="worse", because="silence")
        passes = row.verdict not in ("worse", "cannot tell")
        if not passes or not self.share or row.rise is None or row.rise.high is None:
            return row
        largest = baseline.preferences.grid.criterion.top
        if row.unit:
            largest = baseline.outcome.span
        high = (1 - self.share) * row.rise.high + self.share * largest
        rise = replace(row.rise, high=high)
        if high >= row.margin:
            return replace(row, rise=rise, verdict="cannot tell", because="silence")
        return replace(row, rise=rise, verdict="not worse")

    def sentence(self) -> str:
        """Return how many answers the run lacks, without a full stop."""
        about = f" (none about {', '.join(self.groups[:5])})" if self.groups else ""
        return (
            f"The run lacks {counted(self.cells, 'answer')} that the baseline gives, "
            f"{percent(self.share)} of all{about}"
        )
