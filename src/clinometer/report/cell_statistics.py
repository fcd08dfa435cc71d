"""What pages compute from a run: the cells and contexts that matter, and the lean of groups.

Numbers in, arrays and plain tables out; nothing is drawn here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.errors import ClinometerError
from clinometer.measure.criterion import Criterion
from clinometer.runs import Run
from clinometer.runs.folder.cells import cell_prompt
from clinometer.statistics.arrays import FloatArray

CellIndex = tuple[int, int]
"""The index of a group and of a context."""

_WHOLE_RANGE = 20
"""With more contexts than this, a band from lowest to highest only reflects their number."""


def drawn(run: Run) -> Run:
    """Return the run as it is drawn: of a scale the two ends, shared so that the mean score is the
    same.

    Its risks and findings are those of the whole scale.
    """
    points = np.array(run.risks.criterion.points)
    if len(points) < 3:
        return run
    p = run.preferences
    ends = (run.risks.categories[0], run.risks.categories[-1])
    reference = p.reference
    if reference is None:
        reference = np.full(len(points), 1 / len(points))
    if not isinstance(reference, str):
        reference = _shares_of_ends(np.asarray(reference, dtype=float), points)
    criterion = Criterion("points", points=(float(points[0]), float(points[-1])))
    up = run.risks.mean_stereotype @ points / (points[-1] - points[0])
    run_of_ends = replace(
        run,
        preferences=replace(
            p,
            values=_shares_of_ends(p.values, points),
            categories=ends,
            reference=reference,
            criterion=criterion,
            low=None,
            high=None,
            answers=None,
        ),
        risks=replace(
            run.risks,
            categories=ends,
            criterion=criterion,
            mean_stereotype=np.stack([-up, up], axis=-1),
        ),
    )
    vars(run_of_ends).update(leans=run.leans, findings=run.findings)
    return run_of_ends


def _shares_of_ends(shares: FloatArray, points: FloatArray) -> FloatArray:
    """Return shares [..., 2] of the two ends of a scale with the mean score of shares [..., Y]."""
    upper = (shares @ points - points[0]) / (points[-1] - points[0])
    return np.stack([1 - upper, upper], axis=-1)


def is_answered(run: Run) -> bool:
    """Return whether cells are answers to questions or cases, and not words in a sentence."""
    return run.outcome.is_answered or run.record.components is not None


@dataclass(frozen=True, eq=False)
class CellStatistics:
    """A run with the arrays that several tables and charts need, each computed once."""

    run: Run
    """The run as it is drawn, see `drawn`."""

    whole: Run | None = None
    """The run as it was measured, where that differs."""

    @cached_property
    def s(self) -> FloatArray:
        """The stereotype of each cell [X,C,Y] on the scale of the risks; NaN where missing."""
        p = self.run.preferences
        return np.where(p.observed[..., None], p.grid.stereotypes(), np.nan)

    @cached_property
    def cell_weights(self) -> FloatArray:
        """The weight of each cell [X,C] within its group; 0 where missing."""
        return self.run.preferences.grid.shares()[0]

    @cached_property
    def strength(self) -> FloatArray:
        """J(s) of each cell [X,C]; NaN where missing."""
        categories = self.run.risks.categories
        if self.whole is not None and self.whole.risks.categories != categories:
            return CellStatistics(self.whole).strength
        missing = np.isnan(self.s).any(axis=2)
        strength = self.run.risks.criterion(np.nan_to_num(self.s))
        return np.where(missing, np.nan, strength)

    @cached_property
    def trusted(self) -> FloatArray:
        """The strength of the answers that count [X,C], and NaN elsewhere: answers whose words
        carry hardly any probability are noise, unless all are of that kind."""
        strength = np.where(self.cell_weights > 0, self.strength, np.nan)
        trusted = np.where(self.run.preferences.low_coverage, np.nan, strength)
        return strength if np.isnan(trusted).all() else trusted

    @cached_property
    def favoured(self) -> NDArray[np.int64]:
        """The index of the category with the largest s [X,C]."""
        return np.asarray(np.nan_to_num(self.s, nan=-np.inf).argmax(axis=2))

    @cached_property
    def context_mean(self) -> FloatArray:
        """The mean of s over the groups of each context [C,Y], by group weight; NaN if none."""
        present = ~np.isnan(self.s).any(axis=2)
        weights = present * self.run.risks.group_weights[:, None]
        total = weights.sum(axis=0)[:, None]
        weighted_sum = (weights[..., None] * np.nan_to_num(self.s)).sum(axis=0)
        empty = np.full(weighted_sum.shape, np.nan)
        return np.asarray(np.divide(weighted_sum, total, out=empty, where=total > 0))

    @cached_property
    def depth(self) -> FloatArray:
        """The strength from 0 to 1 [X,C], on any scale of the risks; what is measured from the mean
        of the groups is seldom far from it, and ends at the furthest."""
        from_mean = self.run.outcome.reference.is_mean
        if self.run.risks.criterion.normalize and not from_mean:
            return self.strength
        return np.asarray(self.strength / max(1e-12, float(np.nanmax(self.strength))))

    @cached_property
    def risk_parts(self) -> FloatArray:
        """What each cell adds to R [X,C]; 0 where missing."""
        groups = self.run.risks.group_weights[:, None]
        return np.asarray(self.cell_weights * groups * np.nan_to_num(self.strength))

    @cached_property
    def side(self) -> NDArray[np.int64]:
        """The index of the category that each group leans to, clearly or not [X]; -1 if missing."""
        index = {name: y for y, name in enumerate(self.run.preferences.categories)}
        return np.array([index.get(lean.favoured or "", -1) for lean in self.run.leans])

    @cached_property
    def answered(self) -> NDArray[np.int64]:
        """The indices of the groups with an answer."""
        return np.flatnonzero(self.side >= 0)

    @cached_property
    def clear(self) -> NDArray[np.bool_]:
        """Whether each group is on the list of those that lean clearly [X], see `Run.leans`."""
        return np.array([lean.category is not None for lean in self.run.leans])

    @cached_property
    def share(self) -> FloatArray:
        """The mean share of each category over the contexts [X,Y]; NaN if missing."""
        p = self.run.preferences
        return p.grid.mean(p.values)

    @property
    def whole_range(self) -> bool:
        """Return whether `share_range` is of all contexts, and not of their middle 90 %."""
        return len(self.run.preferences.contexts) <= _WHOLE_RANGE

    @cached_property
    def share_range(self) -> FloatArray:
        """Between what ends the share lies over the contexts of each group [2,X,Y]."""
        weights = self.cell_weights[..., None]
        values = np.where(weights > 0, self.run.preferences.values, np.inf)
        order = np.argsort(values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
        weights = np.broadcast_to(weights, values.shape)
        cumulative = np.take_along_axis(weights, order, axis=1).cumsum(axis=1)
        last = values.shape[1] - 1
        ends = []
        for quantile in (0.0, 1.0) if self.whole_range else (0.05, 0.95):
            below = (cumulative < quantile - 1e-12).sum(axis=1, keepdims=True)
            position = below.clip(max=last)
            ends.append(np.take_along_axis(values, position, axis=1)[:, 0])
        return np.where(np.isnan(self.share), np.nan, ends)

    @cached_property
    def mean_ends(self) -> FloatArray:
        """The interval of each mean share [2,X,Y], that of the group's lean; NaN without one, and
        of more than two categories for all but the favoured one."""
        p = self.run.preferences
        reference = np.broadcast_to(p.grid.reference, p.values.shape)
        # How far a share moves where s moves by 1.
        slope = (1 / self.run.risks.criterion.worth(reference)).mean(axis=1)
        ends = np.full((2, *self.share.shape), np.nan)
        for x, (lean, y) in enumerate(zip(self.run.leans, self.side, strict=True)):
            if lean.lean is None or lean.low is None or lean.high is None:
                continue
            arms = np.array([lean.low, lean.high]) - lean.lean
            ends[:, x, y] = self.share[x, y] + slope[x, y] * arms
            if self.share.shape[1] == 2:
                ends[:, x, 1 - y] = 1 - ends[::-1, x, y]
        return np.clip(ends, 0, 1)

    def ordered(self, score: FloatArray, n: int) -> list[CellIndex]:
        """Return the n cells with the highest score."""
        order = np.argsort(-score, axis=None, kind="stable")[:n]
        rows, columns = np.unravel_index(order, score.shape)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def heaviest(self, n: int) -> list[CellIndex]:
        """Return the n cells that add most to R; none that adds nothing."""
        cells = self.ordered(self.risk_parts, n)
        return [cell for cell in cells if self.risk_parts[cell] > 0]

    def one_a_sentence(self, cells: Iterable[CellIndex], n: int) -> list[CellIndex]:
        """Return the first n of the cells, each sentence once."""
        first: dict[tuple[str, str], CellIndex] = {}
        for cell in cells:
            if len(first) == n:
                break
            first.setdefault(sentence(self.run, *cell), cell)
        return list(first.values())

    def weighty_cells(self, n: int = 10) -> pd.DataFrame:
        """Return the cells that make up most of R: group, context, p of each category, share of
        R."""
        p = self.run.preferences
        total = self.risk_parts.sum()
        rows = []
        for x, c in self.heaviest(n):
            text = "___".join(sentence(self.run, x, c))
            row = (p.groups[x], p.contexts[c], _template(self.run, c), text)
            share = self.risk_parts[x, c] / total
            rows.append((*row, share, *p.values[x, c]))
        columns = ["group", "context_id", "template", "sentence", "share"]
        columns += [f"p({name})" for name in p.categories]
        return pd.DataFrame(rows, columns=columns)


def sentence(run: Run, x: int, c: int) -> tuple[str, str]:
    """Return the text before and after the word of a cell."""
    group = run.preferences.groups[x]
    template = _template(run, c)
    try:
        prompt, _ = cell_prompt(run, group, template)
    except ClinometerError:  # contexts of a preferences table need not be templates
        return f"{group}: {template}", ""
    return prompt.before + (" " if prompt.space else ""), prompt.after


def _template(run: Run, c: int) -> str:
    return (run.preferences.templates or run.preferences.contexts)[c]


def lean_errors(cells: CellStatistics, category: int) -> FloatArray | None:
    """Return the standard error of each group's mean lean to a category [X]; None where there is
    none."""
    s = np.nan_to_num(cells.s[:, :, category])
    weights = cells.cell_weights
    mean = (weights * s).sum(axis=1)
    sum_w2 = np.square(weights).sum(axis=1)
    # Effective contexts.
    n = np.divide(1.0, sum_w2, out=np.ones_like(sum_w2), where=sum_w2 > 0)
    if (n <= 1 + 1e-9).any():
        return None
    residuals = s - mean[:, None]
    spread = np.sqrt((np.square(weights) * np.square(residuals)).sum(axis=1))
    error = np.asarray(spread * np.sqrt(n / (n - 1)))
    return error if np.isfinite(error).all() and (error > 0).any() else None
