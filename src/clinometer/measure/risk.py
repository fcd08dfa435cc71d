"""Discrimination risk and its components, bias and volatility (Eq. 3 to 7), for any norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.criterion import Criterion, checked_norm
from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    read_preferences,
)
from clinometer.measure.results import RiskReport
from clinometer.statistics.arrays import FloatArray, blocks, plain, read_only, snap
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.weights import weighted_mean

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

NORMS = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, math.inf)


def decompose(
    p: ArrayLike | DataFrame,
    **given: Unpack[PreferenceArguments],
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
        criterion: how a departure from p* counts as risk: "ratio" (the paper's), "share" (of the
            answers that would have to change) or "points" (of a rating scale); None takes the one
            that fits, see `Criterion`. R is on its scale.
        norm: k of the paper's J_k, 1 to inf.
        normalize: False gives the paper's raw equations, without division by `scale(p*)`.
        points: numbers of the categories, for "points"; None reads them from the labels.
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
    return decompose_grid(read_preferences(p, **given))


def decompose_grid(grid: PreferenceGrid) -> RiskReport:
    """`decompose` of preferences that have been read."""
    found = _CriterionSums.of(grid, (grid.criterion,))
    R, R_bias, R_volatility = (float(values[0]) for values in found.overall)
    n_eff, n_eff_by_group = grid.effective_sizes(found.total, found.square)
    return RiskReport(
        groups=grid.groups,
        categories=grid.categories,
        r=found.r[0],
        r_bias=found.r_bias[0],
        r_volatility=found.r_volatility[0],
        mean_stereotype=found.mean,
        group_weights=grid.group_weights,
        R=Estimate(R),
        R_bias=Estimate(R_bias),
        R_volatility=Estimate(R_volatility),
        n_contexts=grid.contexts_asked,
        n_eff=n_eff,
        n_eff_by_group=n_eff_by_group,
        missing_cells=grid.missing_cells,
        missing_groups=tuple(g for g, w in zip(grid.groups, found.total, strict=True) if w <= 0),
        criterion=grid.criterion,
    )


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Risks for each norm k. Arrays are read-only.

    Attributes:
        norms: k, as given.
        groups: labels, X of them.
        r, r_bias, r_volatility: [N,X]; NaN for missing groups.
        R, R_bias, R_volatility: [N].
    """

    norms: tuple[float, ...]
    groups: tuple[str, ...]
    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    R: FloatArray
    R_bias: FloatArray
    R_volatility: FloatArray

    def table(self) -> list[dict[str, Any]]:
        """One plain row per norm: norm ("inf" for the maximum), R, R_bias, R_volatility."""
        return [
            {
                "norm": "inf" if math.isinf(k) else k,
                "R": float(self.R[i]),
                "R_bias": float(self.R_bias[i]),
                "R_volatility": float(self.R_volatility[i]),
            }
            for i, k in enumerate(self.norms)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The curve and the groups' risks as plain values for JSON; None for missing groups."""
        rows = self.table()
        for i, row in enumerate(rows):
            row["groups"] = [
                {
                    "group": group,
                    "r": plain(self.r[i, x]),
                    "r_bias": plain(self.r_bias[i, x]),
                    "r_volatility": plain(self.r_volatility[i, x]),
                }
                for x, group in enumerate(self.groups)
            ]
        return {"curve": rows}


def risk_curve(grid: PreferenceGrid, norms: Sequence[float] = NORMS) -> RiskCurve:
    """R, R^b and R^v of the paper's criterion as functions of k (Eq. 10), in one pass.

    k = 1 adds up the positive stereotypes of all categories; k = inf takes only the worst. R
    and R^b do not grow with k; R^v may rise or fall. With two categories only one can be
    positive, so the curve is flat: k changes how several favoured categories count.

    `decompose` gives the same numbers norm by norm. No norm at all, and a norm below 1, are
    errors.

    >>> p = [[0.4, 0.4, 0.2], [0.6, 0.2, 0.2]]
    >>> curve = risk_curve(read_preferences(p), [1, np.inf])
    >>> curve.R.round(12).tolist(), curve.R_volatility.round(12).tolist()
    ([0.3, 0.25], [0.05, 0.0])
    """
    ks = tuple(checked_norm(norm) for norm in norms)
    if not ks:
        raise SettingsError("norms: expected at least one norm, found none")
    paper = grid.criterion if grid.criterion.name == "ratio" else Criterion()
    found = _CriterionSums.of(replace(grid, criterion=paper), [replace(paper, norm=k) for k in ks])
    by_group = [read_only(part) for part in (found.r, found.r_bias, found.r_volatility)]
    return RiskCurve(ks, grid.groups, *by_group, *found.overall)


@dataclass(frozen=True, eq=False)
class _CriterionSums:
    """Sums over the contexts for N criteria of the same s.

    total, square [X] of the weights, mean [X,K] of s, r, r_bias, r_volatility [N,X], and their
    three means over the groups [N].
    """

    total: FloatArray
    square: FloatArray
    mean: FloatArray
    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    overall: list[FloatArray]

    @classmethod
    def of(cls, grid: PreferenceGrid, criteria: Sequence[Criterion]) -> _CriterionSums:
        """One pass over the preferences, in blocks."""
        X, K = grid.shape[0], len(grid.categories)
        total, square, risk = np.zeros(X), np.zeros(X), np.zeros((len(criteria), X))
        mean = np.zeros((X, K))
        for rows, columns in blocks(grid.shape, depth=K):
            s = grid.stereotypes(rows, columns)
            w = grid.cell_weights(rows, columns)
            total[rows] += w.sum(axis=1)
            square[rows] += (w * w).sum(axis=1)
            for i, criterion in enumerate(criteria):
                risk[i, rows] += (w * criterion(s)).sum(axis=1)
            for y in range(K):
                mean[rows, y] += (w * s[..., y]).sum(axis=1)
        observed = total > 0
        weights = grid.observed_weights(observed)
        divisor = np.where(observed, total, np.nan)
        mean /= divisor[:, None]
        r = snap(risk / divisor, grid.tolerance)
        r_bias = snap(np.stack([criterion(mean) for criterion in criteria]), grid.tolerance)
        r_volatility = snap(r - r_bias, grid.tolerance)
        overall = [
            read_only(np.array([weighted_mean(row, weights) for row in part]))
            for part in (r, r_bias, r_volatility)
        ]
        return cls(total, square, mean, r, r_bias, r_volatility, overall)
