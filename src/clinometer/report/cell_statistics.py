"""What pages compute from a run: cells and contexts that matter, and the lean of groups.

Numbers in, arrays and plain tables out; nothing is drawn here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.errors import ClinometerError
from clinometer.measure.criterion import Criterion
from clinometer.runs import Run
from clinometer.runs.folder.recover import cell_prompt
from clinometer.statistics.arrays import FloatArray

#: With more contexts than this, a band from lowest to highest only reflects their number.
_WHOLE_RANGE = 20


def drawn(run: Run) -> Run:
    """The run as it is drawn: of a scale the two ends, shared so that the mean score is the same.

    Its risks and findings are those of the whole scale.
    """
    points = np.array(run.risks.criterion.points)
    if len(points) < 3:
        return run
    p, ends = run.preferences, (run.risks.categories[0], run.risks.categories[-1])

    def shared(shares: FloatArray) -> FloatArray:
        up = (shares @ points - points[0]) / (points[-1] - points[0])
        return np.stack([1 - up, up], axis=-1)

    criterion = Criterion("points", points=(float(points[0]), float(points[-1])))
    even = np.full(len(points), 1 / len(points)) if p.reference is None else p.reference
    preferences = replace(
        p,
        values=shared(p.values),
        categories=ends,
        reference=even if isinstance(even, str) else shared(np.asarray(even, dtype=float)),
        criterion=criterion,
        low=None,
        high=None,
        answers=None,
    )
    up = run.risks.mean_stereotype @ points / (points[-1] - points[0])
    found = replace(
        run,
        preferences=preferences,
        risks=replace(
            run.risks,
            categories=ends,
            criterion=criterion,
            mean_stereotype=np.stack([-up, up], axis=-1),
        ),
    )
    vars(found).update(leans=run.leans, findings=run.findings)
    return found


@dataclass(frozen=True, eq=False)
class CellStatistics:
    """A run with the arrays that several tables and charts need, each computed once.

    run    as it is drawn, see `drawn`
    whole  as it was measured, where that differs
    """

    run: Run
    whole: Run | None = None

    @cached_property
    def measured(self) -> CellStatistics:
        """The same of the run as it was measured."""
        same = self.whole is None or self.whole.risks.categories == self.run.risks.categories
        return self if same or self.whole is None else CellStatistics(self.whole)

    @cached_property
    def s(self) -> FloatArray:
        """[X, C, Y]: the stereotype of each cell on the scale of the risks; NaN where missing."""
        p = self.run.preferences
        return np.where(p.observed[..., None], p.grid.stereotypes(), np.nan)

    @cached_property
    def cell_weights(self) -> FloatArray:
        """[X, C]: w_c within a group; 0 where missing."""
        return self.run.preferences.grid.shares()[0]

    @cached_property
    def strength(self) -> FloatArray:
        """[X, C]: J(s) of each cell; NaN where missing."""
        if self.measured is not self:
            return self.measured.strength
        missing = np.isnan(self.s).any(axis=2)
        j = self.run.risks.criterion(np.nan_to_num(self.s))
        return np.where(missing, np.nan, j)

    @cached_property
    def trusted(self) -> FloatArray:
        """[X, C]: the strength of the answers that count, and NaN elsewhere: answers whose words
        carry hardly any probability are noise, unless all are of that kind."""
        strength = np.where(self.cell_weights > 0, self.strength, np.nan)
        trusted = np.where(self.run.preferences.low_coverage, np.nan, strength)
        return strength if np.isnan(trusted).all() else trusted

    @cached_property
    def favoured(self) -> NDArray[np.int64]:
        """[X, C]: index of the category with the largest s."""
        return np.asarray(np.nan_to_num(self.s, nan=-np.inf).argmax(axis=2))

    @cached_property
    def context_mean(self) -> FloatArray:
        """[C, Y]: mean of s over the groups of each context, by group weight; NaN if none."""
        there = ~np.isnan(self.s).any(axis=2)
        w = there * self.run.risks.group_weights[:, None]
        total = w.sum(axis=0)
        summed = (w[..., None] * np.nan_to_num(self.s)).sum(axis=0)
        empty = np.full(summed.shape, np.nan)
        return np.asarray(np.divide(summed, total[:, None], out=empty, where=total[:, None] > 0))

    @cached_property
    def depth(self) -> FloatArray:
        """[X, C]: the strength from 0 to 1, on any scale of the risks; what is measured from the
        mean of the groups is seldom far from it, and ends at the furthest."""
        if self.run.risks.criterion.normalize and not self.run.preferences.grid.relative:
            return self.strength
        return np.asarray(self.strength / max(1e-12, float(np.nanmax(self.strength))))

    @cached_property
    def scores(self) -> FloatArray | None:
        """[X, C]: the mean score of each cell; None where answers are not points of a scale."""
        points = np.array(self.run.risks.criterion.points)
        return np.asarray(self.run.preferences.values @ points) if points.size else None

    @cached_property
    def risk_parts(self) -> FloatArray:
        """[X, C]: what each cell adds to R; 0 where missing."""
        groups = self.run.risks.group_weights[:, None]
        return np.asarray(self.cell_weights * groups * np.nan_to_num(self.strength))

    def leanings(self) -> pd.DataFrame:
        """model, category, group, s: the mean stereotype of every group."""
        report = self.run.risks
        return pd.DataFrame(
            [
                (self.run.model, category, group, report.mean_stereotype[x, y])
                for y, category in enumerate(report.categories)
                for x, group in enumerate(report.groups)
            ],
            columns=["model", "category", "group", "s"],
        )

    def ordered(self, score: FloatArray, n: int) -> list[tuple[int, int]]:
        """Group and context of the n cells with the highest score."""
        order = np.argsort(-score, axis=None, kind="stable")[:n]
        return [
            (int(x), int(c)) for x, c in zip(*np.unravel_index(order, score.shape), strict=True)
        ]

    def heaviest(self, n: int) -> list[tuple[int, int]]:
        """The n cells that add most to R; none that adds nothing."""
        return [cell for cell in self.ordered(self.risk_parts, n) if self.risk_parts[cell] > 0]

    def one_a_sentence(self, cells: Iterable[tuple[int, int]], n: int) -> list[tuple[int, int]]:
        """The first n of the cells, each sentence once."""
        first: dict[tuple[str, str], tuple[int, int]] = {}
        for cell in cells:
            if len(first) == n:
                break
            first.setdefault(sentence(self.run, *cell), cell)
        return [*first.values()]

    def weighty_cells(self, n: int = 10) -> pd.DataFrame:
        """The cells that make up most of R: group, context, p of each category, share of R."""
        p, part, cells = self.run.preferences, self.risk_parts, self.heaviest(n)
        rows = [
            {
                "group": p.groups[x],
                "context_id": p.contexts[c],
                "template": _template(self.run, c),
                "sentence": "___".join(sentence(self.run, x, c)),
                "share": part[x, c] / part.sum(),
                **{f"p({y})": p.values[x, c, i] for i, y in enumerate(p.categories)},
            }
            for x, c in cells
        ]
        columns = ["group", "context_id", "template", "sentence", "share"]
        return pd.DataFrame(rows, columns=[*columns, *(f"p({y})" for y in p.categories)])


def context_weights(run: Run) -> FloatArray:
    """[C], summing to one; the mean over groups where they were seen in different contexts."""
    w = run.preferences.context_weights
    shared = w if w.ndim == 1 else w.mean(axis=0)
    return np.asarray(shared / shared.sum())


def sentence(run: Run, x: int, c: int) -> tuple[str, str]:
    """The text before and after the word of a cell."""
    try:
        prompt, _ = cell_prompt(run, run.preferences.groups[x], _template(run, c))
    except ClinometerError:  # contexts of a preferences table need not be templates
        return f"{run.preferences.groups[x]}: {_template(run, c)}", ""
    return prompt.before + (" " if prompt.space else ""), prompt.after


def _template(run: Run, c: int) -> str:
    return (run.preferences.templates or run.preferences.contexts)[c]


@dataclass(frozen=True, eq=False)
class Leans:
    """The lean of each group.

    share      [X, Y]: mean share of each category's words over the contexts; NaN if missing
    favoured   [X]: index of the category furthest above the reference; -1 if missing
    clear      [X]: whether the group is on the list of those that lean clearly
    low, high  [X, Y]: the range of the share over contexts (its middle 90 % if they are many)
    mean_low, mean_high  [X, Y]: the interval of the mean share, from `Run.leans`; NaN without
               one, and of more than two categories for all but the favoured one
    whole      the run as it was measured, where that differs from `run`
    """

    run: Run
    share: FloatArray
    favoured: NDArray[np.int64]
    clear: NDArray[np.bool_]
    low: FloatArray
    high: FloatArray
    mean_low: FloatArray
    mean_high: FloatArray
    whole: Run | None = None

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """Groups with an answer."""
        return np.flatnonzero(self.favoured >= 0)

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """(category, groups that lean to it clearly), most first."""
        return Counter(int(y) for y in self.favoured[self.clear]).most_common()

    @property
    def whole_range(self) -> bool:
        return self.run.risks.n_contexts <= _WHOLE_RANGE


def find_leans(cells: CellStatistics) -> Leans:
    """The lean of each group, and whether it is clear: see `Run.leans`."""
    run = cells.run
    place = {name: y for y, name in enumerate(run.preferences.categories)}
    favoured = np.array([-1 if g.favoured is None else place[g.favoured] for g in run.leans])
    clear = np.array([g.category is not None for g in run.leans])
    share, low, high = _shares(cells)
    ends = _mean_ends(run, share, favoured)
    return Leans(run, share, favoured, clear, low, high, *ends, whole=cells.whole)


def _mean_ends(
    run: Run, share: FloatArray, favoured: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """The interval of each mean share [X, Y]: that of the group's lean, in shares."""
    worth = _share_of_lean(run)
    ends = np.full((2, *share.shape), np.nan)
    for x, lean in enumerate(run.leans):
        if lean.lean is None or lean.low is None or lean.high is None:
            continue
        y = int(favoured[x])
        ends[:, x, y] = [
            share[x, y] + worth[x, y] * (end - lean.lean) for end in (lean.low, lean.high)
        ]
        if share.shape[1] == 2:
            ends[:, x, 1 - y] = 1 - ends[::-1, x, y]
    low, high = np.clip(ends, 0, 1)
    return low, high


def _share_of_lean(run: Run) -> FloatArray:
    """[X, Y]: by how much a share moves where the stereotype moves by 1."""
    p = run.preferences
    star = np.broadcast_to(p.grid.reference, p.values.shape)
    return np.asarray((1 / run.risks.criterion.worth(star)).mean(axis=1))


def lean_errors(cells: CellStatistics, category: int) -> FloatArray | None:
    """[X]: the standard error of each group's mean lean to a category; None where there is none."""
    s, w = np.nan_to_num(cells.s[:, :, category]), cells.cell_weights
    mean = (w * s).sum(axis=1)
    total = np.square(w).sum(axis=1)
    n = np.divide(1.0, total, out=np.ones_like(total), where=total > 0)  # effective contexts
    if (n <= 1 + 1e-9).any():
        return None
    spread = np.sqrt((np.square(w) * np.square(s - mean[:, None])).sum(axis=1))
    error = np.asarray(spread * np.sqrt(n / (n - 1)))
    return error if np.isfinite(error).all() and (error > 0).any() else None


def _shares(cells: CellStatistics) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, low and high share of each category over the contexts of each group, [X, Y]."""
    p, w = cells.run.preferences.values, cells.cell_weights
    X, C, Y = p.shape
    mean = np.einsum("xc,xcy->xy", w, np.nan_to_num(p))
    missing = w.sum(axis=1) <= 0
    mean[missing] = np.nan
    ends = np.full((2, X, Y), np.nan)
    points = (0.0, 1.0) if C <= _WHOLE_RANGE else (0.05, 0.95)
    for x in np.flatnonzero(~missing):
        there = w[x] > 0
        for y in range(Y):
            ends[:, x, y] = _quantiles(p[x, there, y], w[x, there], points)
    return mean, ends[0], ends[1]


def _quantiles(values: FloatArray, weights: FloatArray, points: tuple[float, float]) -> FloatArray:
    """The smallest values at or below which these shares of the weight lie."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) / weights.sum()
    at = np.searchsorted(upto, np.asarray(points) - 1e-12)
    return np.asarray(values[order][np.minimum(at, len(values) - 1)])
