"""Who gets more or less from one run than from another, context by context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from clinometer.runs.departures import departures, is_clear, joint, mean_departures
from clinometer.runs.kinds import Kind, kinds, statements_about
from clinometer.runs.names import group_name
from clinometer.runs.run import Run
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, around


@dataclass(frozen=True)
class Shift:
    """How much more or less one group, or one kind of people, gets from a run than from another."""

    name: str
    """Who it is."""

    column: str
    """What they have in common; "" for a single group."""

    run: float
    """How far from the mean of the groups they are in the run."""

    baseline: float
    """The same in the baseline."""

    change: Estimate
    """Run minus baseline; its interval is corrected for all groups and kinds."""

    rise: Estimate
    """How much further from the mean the run is than the baseline, on the side where it is.

    Its upper end is passed by a larger rise in at most 5 % of comparisons; its lower end is
    corrected for all groups and kinds.
    """

    @property
    def clear(self) -> bool:
        return is_clear(self.change)


def shifts(
    run: Run, baseline: Run, *, level: float = 0.95, clusters: str | None = None
) -> list[Shift]:
    """Return the shifts of all groups and kinds of people between two runs, in the cells that both
    have.

    A rise on side s is min(s·change, s·lean of the run): a lean that only gets smaller is none, and
    one that crosses the mean counts from there.
    """
    pair = _common_cells(run, baseline)
    if pair is None:
        return []
    after, before = pair
    preferences = run.preferences
    answered = np.asarray(np.isfinite(after).any(axis=1))
    in_both = [
        i
        for i, group in enumerate(preferences.groups)
        if group in baseline.preferences.groups
    ]
    groups = [Kind(group_name(run, preferences.groups[i]), "", (i,)) for i in in_both]
    every = [*groups, *kinds(run)]
    rows = [row for row in every if answered[list(row.members)].any()]
    about_kinds = statements_about([row for row in rows if row.column])
    corrected = joint(level, len(groups) + about_kinds)

    def estimates(value: FloatArray, level: float) -> list[Estimate]:
        return mean_departures(rows, value, preferences, level=level, clusters=clusters)

    change = estimates(after - before, corrected)
    lean = estimates(after, corrected)
    change_alone = estimates(after - before, level)
    lean_alone = estimates(after, level)
    earlier_lean = estimates(before, level)
    return [
        Shift(
            name=row.name,
            column=row.column,
            run=lean[i].value,
            baseline=earlier_lean[i].value,
            change=change[i],
            rise=_rise((change[i], lean[i]), (change_alone[i], lean_alone[i]), level),
        )
        for i, row in enumerate(rows)
    ]


def _common_cells(run: Run, baseline: Run) -> tuple[FloatArray, FloatArray] | None:
    """Return the departures [X,C] of a run and of its baseline, NaN where one of them has none, in
    the groups and contexts of the run; None where there is nothing to compare."""
    p, q = run.preferences, baseline.preferences
    value = run.outcome.compared_value(p)
    earlier = baseline.outcome.compared_value(q)
    if value is None or earlier is None or run.outcome.unit != baseline.outcome.unit:
        return None
    groups = [i for i, group in enumerate(p.groups) if group in q.groups]
    contexts = [i for i, context in enumerate(p.contexts) if context in q.contexts]
    if len(groups) < 2 or not contexts:
        return None
    groups_there = [q.groups.index(p.groups[i]) for i in groups]
    contexts_there = [q.contexts.index(p.contexts[i]) for i in contexts]
    cells = np.ix_(groups, contexts)
    after = np.full(p.observed.shape, np.nan)
    before = np.full(p.observed.shape, np.nan)
    after[cells] = value[cells]
    before[cells] = earlier[np.ix_(groups_there, contexts_there)]
    both = np.isfinite(after) & np.isfinite(before)
    from_mean = partial(departures, group_weights=p.group_weights)
    return (
        from_mean(np.where(both, after, np.nan)),
        from_mean(np.where(both, before, np.nan)),
    )


def _rise(
    corrected: Sequence[Estimate], alone: Sequence[Estimate], level: float
) -> Estimate:
    """Return the rise of a change and a lean, each as `corrected` for all and `alone`."""
    change, lean = corrected
    value = max(min(side * change.value, side * lean.value) for side in (1, -1))
    if any(part.low is None for part in (*corrected, *alone)):
        return Estimate(value)
    low = max(min(_end(part, side, 0) for part in corrected) for side in (1, -1))
    high = max(min(_end(part, side, 1) for part in alone) for side in (1, -1))
    return around(value, low, high, level, "flipped contexts")


def _end(part: Estimate, side: int, end: int) -> float:
    """Return the lower (0) or upper (1) end of an interval that is seen from a side."""
    ends = sorted((side * (part.low or 0.0), side * (part.high or 0.0)))
    return ends[end]
