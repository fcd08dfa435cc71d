"""Discrimination risk and its components, bias and volatility (Eq. 3 to 7), for any norm; beside
them the metrics that A.2 finds wanting, system bias and deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    read_preferences,
)
from clinometer.measure.results import RiskReport
from clinometer.statistics.arrays import FloatArray, blocks, snap
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.weights import weighted_mean

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame


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
    """`decompose` of preferences that have been read, in one pass over them, in blocks."""
    criterion, X, K = grid.criterion, grid.shape[0], len(grid.categories)
    total, square, risk, mean = np.zeros(X), np.zeros(X), np.zeros(X), np.zeros((X, K))
    for rows, columns in blocks(grid.shape, depth=K):
        s = grid.stereotypes(rows, columns)
        w = grid.cell_weights(rows, columns)
        total[rows] += w.sum(axis=1)
        square[rows] += (w * w).sum(axis=1)
        risk[rows] += (w * criterion(s)).sum(axis=1)
        for y in range(K):
            mean[rows, y] += (w * s[..., y]).sum(axis=1)
    observed = total > 0
    weights = grid.observed_weights(observed)
    divisor = np.where(observed, total, np.nan)
    mean /= divisor[:, None]
    r = snap(risk / divisor, grid.tolerance)
    r_bias = snap(criterion(mean), grid.tolerance)
    r_volatility = snap(r - r_bias, grid.tolerance)
    R, R_bias, R_volatility = (
        Estimate(float(weighted_mean(part, weights))) for part in (r, r_bias, r_volatility)
    )
    n_eff, n_eff_by_group = grid.effective_sizes(total, square)
    return RiskReport(
        groups=grid.groups,
        categories=grid.categories,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        mean_stereotype=mean,
        group_weights=grid.group_weights,
        R=R,
        R_bias=R_bias,
        R_volatility=R_volatility,
        n_contexts=grid.contexts_asked,
        n_eff=n_eff,
        n_eff_by_group=n_eff_by_group,
        missing_cells=grid.missing_cells,
        missing_groups=tuple(g for g, w in zip(grid.groups, total, strict=True) if w <= 0),
        criterion=criterion,
    )


def system_bias(
    p: ArrayLike | DataFrame | PreferenceGrid, **given: Unpack[PreferenceArguments]
) -> FloatArray:
    """[X,Y], mean of p over contexts less the reference (A.2): 0 for a model that is fair on
    average, however far it swings. For two categories and an even reference it is ± r^b / 2.

    >>> M1, M2 = [[0.6, 0.4]] * 3, [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]
    >>> [round(abs(float(system_bias(m)[0, 0])), 12) for m in (M1, M2)]
    [0.1, 0.0]
    """
    grid = p if isinstance(p, PreferenceGrid) else read_preferences(p, **given)
    return _mean_over_contexts(grid, grid.values - grid.reference)


def deviation(
    p: ArrayLike | DataFrame | PreferenceGrid, **given: Unpack[PreferenceArguments]
) -> FloatArray:
    """[X,Y], mean over contexts of the distance from the reference, as a share of it (A.2). For two
    categories and an even reference it is r: it does not tell a lean from a swing.

    >>> M1, M2 = [[0.6, 0.4]] * 3, [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]
    >>> [round(float(deviation(m)[0, 0]), 12) for m in (M1, M2)]
    [0.2, 0.2]
    """
    grid = p if isinstance(p, PreferenceGrid) else read_preferences(p, **given)
    return _mean_over_contexts(grid, np.abs(grid.values - grid.reference) / grid.reference)


def _mean_over_contexts(grid: PreferenceGrid, values: FloatArray) -> FloatArray:
    """[X,C,Y] -> [X,Y]; NaN for a group without an observed cell."""
    w = grid.cell_weights(slice(0, grid.shape[0]), slice(0, grid.shape[1]))
    total = w.sum(axis=1, keepdims=True)
    share = w / np.where(total > 0, total, np.nan)
    seen = np.where(w[..., None] > 0, values, 0.0)
    return np.asarray((share[..., None] * seen).sum(axis=1))
