"""Discrimination risk and its components, bias and volatility (Eq. 3 to 7), for any norm.

Beside them stand the metrics that A.2 finds wanting, system bias and deviation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.display.notebook import frame
from clinometer.display.numbers import counted
from clinometer.display.results import risks_html
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    read_preferences,
)
from clinometer.measure.risks import GROUP_RISKS, MEASURES, RISKS
from clinometer.statistics.arrays import (
    ROUNDING,
    FloatArray,
    blocks,
    plain,
    read_only,
    snap,
)
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.weights import effective_size, weighted_mean

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame


def decompose(
    p: ArrayLike | DataFrame,
    **arguments: Unpack[PreferenceArguments],
) -> RiskReport:
    """Split the discrimination risk of preferences into bias risk and volatility risk.

    r_x   = sum over c of w_c J(s(x,c))       discrimination risk (Eq. 3)
    r_x^b = J(sum over c of w_c s(x,c))       bias risk (Eq. 5)
    r_x^v = r_x - r_x^b                       volatility risk (Eq. 6), at least 0: J is convex
    R, R^b, R^v = means over x with w_x       (Eq. 4, 7)

    Args:
        p: [X,C,Y] preferences; [C,Y] for one group; or a pandas frame with the columns group,
            context, attribute and p. Each cell sums to one within 1e-6 (it is used as it is, not
            rescaled).
        criterion: how a departure from p* counts as risk: "ratio" (the paper's; "ratio:2" with
            that k of J_k, "raw" without division by `scale(p*)`, "raw:2"), "share" (of the answers
            that would have to change) or "points" (of a rating scale, whose numbers are the
            categories); None takes the one that fits. R is on its scale. See `Criterion`.
        context_weights: [C] shared by the groups, or [X,C]; any scale; None is equal.
        group_weights: [X]; any scale; None is equal.
        reference: p*: None (uniform), [Y], [X,Y] or [X,C,Y]; see `resolve_reference`.
        mask: [X,C], True = observed; None when all are.
        groups, categories: distinct labels; None numbers them.

    Returns:
        `RiskReport`. R = 0: always the reference. R = R^b = 1: the same extreme answer in every
        context. R = R^v = 1: extreme answers that cancel out over the contexts.

    Missing cells: the weights of a group are renormalised over its observed cells; a group
    without any is listed in `missing_groups`, its risks are NaN in the arrays, and R is the mean
    over the others. The values of p in a missing cell are ignored.

    Degenerate input: one context gives r^v = 0; a weight of 0 excludes its context or group.
    Values below 1e-12 (times the scale, for raw risks), smaller than the rounding of the sums,
    are reported as 0. NaN, infinity, negative p, cells that do not sum to one, no group, no
    context, one category, and no observed weight at all are errors.

    >>> report = decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
    >>> [round(e.value, 12) for e in (report.R, report.R_bias, report.R_volatility)]
    [0.2, 0.0, 0.2]
    """
    return decompose_grid(read_preferences(p, **arguments))


def decompose_grid(grid: PreferenceGrid) -> RiskReport:
    """Split the risk of preferences that have been read, in blocks of cells: see `decompose`."""
    criterion = grid.criterion
    X = grid.shape[0]
    K = len(grid.categories)
    total = np.zeros(X)
    total_of_squares = np.zeros(X)
    risk = np.zeros(X)
    mean = np.zeros((X, K))
    for rows, columns in blocks(grid.shape, depth=K):
        s = grid.stereotypes(rows, columns)
        weights = grid.cell_weights(rows, columns)
        total[rows] += weights.sum(axis=1)
        total_of_squares[rows] += (weights * weights).sum(axis=1)
        risk[rows] += (weights * criterion(s)).sum(axis=1)
        for y in range(K):
            mean[rows, y] += (weights * s[..., y]).sum(axis=1)

    observed = total > 0
    divisor = np.where(observed, total, np.nan)
    mean /= divisor[:, None]
    r = snap(risk / divisor, grid.tolerance)
    r_bias = snap(criterion(mean), grid.tolerance)
    r_volatility = snap(r - r_bias, grid.tolerance)

    group_weights = grid.observed_weights(observed)
    summary = {
        name: Estimate(weighted_mean(of_groups, group_weights))
        for name, of_groups in zip(MEASURES, (r, r_bias, r_volatility), strict=True)
    }
    n_eff_by_group = np.full(X, np.nan)
    np.divide(total * total, total_of_squares, out=n_eff_by_group, where=observed)
    if len(grid.context_weights) == 1 and not grid.missing_cells:
        n_eff = effective_size(grid.context_weights[0])
    else:
        n_eff = weighted_mean(n_eff_by_group, group_weights)
    return RiskReport(
        groups=grid.groups,
        categories=grid.categories,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        mean_stereotype=mean,
        group_weights=grid.group_weights,
        summary=summary,
        n_contexts=grid.contexts_asked,
        n_eff=n_eff,
        n_eff_by_group=n_eff_by_group,
        missing_cells=grid.missing_cells,
        missing_groups=grid.missing(total),
        criterion=criterion,
    )


def system_bias(grid: PreferenceGrid) -> FloatArray:
    """Return the mean of p over contexts less the reference [X,Y] (A.2).

    It is 0 for a model that is fair on average, however far it swings. For two categories and an
    even reference it is ± r^b / 2.

    >>> M1, M2 = [[0.6, 0.4]] * 3, [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]
    >>> [round(abs(float(system_bias(read_preferences(m))[0, 0])), 12) for m in (M1, M2)]
    [0.1, 0.0]
    """
    return grid.mean(grid.values - grid.reference)


def deviation(grid: PreferenceGrid) -> FloatArray:
    """Return the mean distance from the reference, as a share of the reference [X,Y] (A.2).

    The mean is over contexts. For two categories and an even reference it is r: it does not tell a
    lean from a swing.

    >>> M1, M2 = [[0.6, 0.4]] * 3, [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]
    >>> [round(float(deviation(read_preferences(m))[0, 0]), 12) for m in (M1, M2)]
    [0.2, 0.2]
    """
    return grid.mean(np.abs(grid.values - grid.reference) / grid.reference)


# --- What a measurement returns ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupIntervals:
    """Intervals of the risks of each group, [X,2] (low, high); NaN rows for missing groups."""

    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    level: float


@dataclass(frozen=True, eq=False, repr=False)
class RiskReport:
    """Risks per group and overall, as `decompose` gives them. Arrays are read-only."""

    groups: tuple[str, ...]
    """The labels of X groups."""

    categories: tuple[str, ...]
    """The labels of Y categories."""

    r: FloatArray
    """[X], Eq. 3; NaN for missing groups, as r_bias and r_volatility are."""

    r_bias: FloatArray
    """[X], Eq. 5."""

    r_volatility: FloatArray
    """[X], Eq. 6."""

    mean_stereotype: FloatArray
    """[X,Y], mean of s over contexts on the scale of the risks: r_bias is J of it."""

    group_weights: FloatArray
    """[X], sum to one over all groups; R renormalises over the observed ones."""

    summary: Mapping[str, Estimate]
    """The risks of all groups by their names, in the order of `RISKS`: those of the decomposition
    and, where they are measured, those that are means over contexts."""

    n_contexts: int
    """Contexts with an observed cell."""

    n_eff: float
    """The effective number of contexts."""

    n_eff_by_group: FloatArray
    """[X], over the observed cells of each group."""

    missing_cells: int
    """Cells that the mask excludes."""

    missing_groups: tuple[str, ...]
    """Groups without any observed weight; they have no risk."""

    criterion: Criterion
    """What R is a measure of, and on what scale."""

    intervals: GroupIntervals | None = None
    """Of the groups' risks, once they have been computed."""

    def __post_init__(self) -> None:
        """Make the arrays unwritable."""
        arrays = [*vars(self).values()]
        if self.intervals is not None:
            arrays += vars(self.intervals).values()
        for value in arrays:
            if isinstance(value, np.ndarray):
                read_only(value)

    def __repr__(self) -> str:
        size = f"{counted(len(self.groups), 'group')}, {counted(self.n_contexts, 'context')}"
        return f"RiskReport({self.shown}; {size})"

    @property
    def shown(self) -> str:
        """Return the three numbers with their intervals, in one line."""
        return f"R {self.R!r}, bias {self.R_bias!r}, volatility {self.R_volatility!r}"

    @property
    def R(self) -> Estimate:  # noqa: N802  # the name of the mathematics
        """Return the discrimination risk (Eq. 4)."""
        return self.summary["R"]

    @property
    def R_bias(self) -> Estimate:  # noqa: N802
        """Return the bias risk (Eq. 7)."""
        return self.summary["R_bias"]

    @property
    def R_volatility(self) -> Estimate:  # noqa: N802
        """Return the volatility risk (Eq. 7)."""
        return self.summary["R_volatility"]

    @property
    def R_shared(self) -> Estimate | None:  # noqa: N802
        """Return the risk that all groups share; None where it is not measured."""
        return self.summary.get("R_shared")

    @property
    def R_between(self) -> Estimate | None:  # noqa: N802
        """Return the risk that differs between the groups; None where it is not measured."""
        return self.summary.get("R_between")

    @property
    def decomposition(self) -> RiskReport:
        """Return the report without the risks that are means over contexts."""
        return replace(self, summary={name: self.summary[name] for name in MEASURES})

    @property
    def leaning(self) -> tuple[str | None, ...]:
        """Return the favoured category of each group: the largest mean stereotype.

        None for a missing group, and for a tie within 1e-12 (times the size of the largest).
        """
        largest = self.mean_stereotype.max(axis=1, keepdims=True)
        tolerance = ROUNDING * np.maximum(1.0, np.abs(largest))
        is_largest = self.mean_stereotype >= largest - tolerance
        return tuple(
            self.categories[int(row.argmax())] if row.sum() == 1 else None
            for row in is_largest
        )

    def groups_table(self) -> list[dict[str, Any]]:
        """Return one plain row per group, as in groups.parquet; None where there is no number."""
        leaning = self.leaning
        rows = []
        for x, group in enumerate(self.groups):
            row: dict[str, Any] = {
                "group": group,
                "weight": float(self.group_weights[x]),
            }
            for name in GROUP_RISKS:
                row[name] = plain(getattr(self, name)[x])
                row[f"{name}_low"] = None
                row[f"{name}_high"] = None
                if self.intervals is not None:
                    low, high = getattr(self.intervals, name)[x]
                    row[f"{name}_low"] = plain(low)
                    row[f"{name}_high"] = plain(high)
            row["leaning"] = leaning[x]
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON: no NaN, no infinity (k = inf is "inf")."""
        return {
            "summary": {
                name: estimate.to_dict() for name, estimate in self.summary.items()
            },
            "groups": self.groups_table(),
            "categories": list(self.categories),
            "mean_stereotype": [
                [plain(s) for s in row] for row in self.mean_stereotype
            ],
            "n_contexts": self.n_contexts,
            "n_eff": self.n_eff,
            "n_eff_by_group": [plain(size) for size in self.n_eff_by_group],
            "missing_cells": self.missing_cells,
            "missing_groups": list(self.missing_groups),
            **self.criterion.to_dict(),
        }

    def to_pandas(self) -> DataFrame:
        """Return one row per group, as in groups.parquet."""
        return frame(self.groups_table())

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return self.to_html("Risks")

    def to_html(self, title: str) -> str:
        """Return the numbers and the groups, highest risk first, under a title; all is escaped."""
        return risks_html(
            self.to_dict(),
            title=title,
            titles={name: RISKS[name].title for name in MEASURES},
            symbols={name: risk.symbol for name, risk in GROUP_RISKS.items()},
        )
