"""Discrimination risk and its parts, bias and volatility (Eq. 3 to 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from clinometer.measure.equations.criterion import checked_norm, criterion
from clinometer.measure.equations.stereotype import resolve_reference, scale
from clinometer.measure.grid import (
    Grid,
    preference_block,
    read_grid,
    read_preferences,
    weighted_mean,
)
from clinometer.measure.results import GroupIntervals, RiskReport
from clinometer.statistics.arrays import (
    ROUNDING,
    FloatArray,
    as_labels,
    blocks,
    snap,
)
from clinometer.statistics.estimate import Estimate

__all__ = ["Estimate", "GroupIntervals", "RiskReport", "decompose"]


def decompose(
    p: ArrayLike,
    *,
    context_weights: ArrayLike | None = None,
    group_weights: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    norm: float = np.inf,
    normalize: bool = True,
    mask: ArrayLike | None = None,
    groups: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
) -> RiskReport:
    """Split the discrimination risk of preferences into bias risk and volatility risk.

    r_x   = sum over c of w_c J(s(x,c))       discrimination risk (Eq. 3)
    r_x^b = J(sum over c of w_c s(x,c))       bias risk (Eq. 5)
    r_x^v = r_x - r_x^b                       volatility risk (Eq. 6), at least 0: J is convex
    R, R^b, R^v = means over x with w_x       (Eq. 4, 7)

    Args:
        p: [X,C,Y] preferences; [C,Y] for one group. Each cell sums to one within 1e-6 (it is
            used as it is, not rescaled).
        context_weights: [C] shared by the groups, or [X,C]; any scale; None is equal.
        group_weights: [X]; any scale; None is equal.
        reference: p*: None (uniform), [Y], [X,Y] or [X,C,Y]; see `resolve_reference`.
        norm: k of the criterion J_k, 1 to inf.
        normalize: divide s by `scale(p*)` in each cell, so that 1 is the risk of always giving
            the least expected category. False gives the raw equations.
        mask: [X,C], True = observed; None when all are.
        groups, categories: distinct labels; None numbers them.

    Returns:
        `RiskReport`. R = 0: always the reference. R = R^b = 1: the same extreme answer in every
        context. R = R^v = 1: extreme answers that cancel out over the contexts.

    Missing cells: the weights of a group are renormalised over its observed cells; a group
    without any is listed in `missing_groups`, its risks are NaN in the arrays, and R is the mean
    over the others. What p holds in a missing cell is not looked at.

    Degenerate input: one context gives r^v = 0; a weight of 0 takes its context or group out.
    Values below 1e-12 (times the scale, for raw risks), smaller than the rounding of the sums,
    are reported as 0. NaN, infinity, negative p, cells that do not sum to one, no group, no
    context, one category, and no observed weight at all are errors.

    >>> report = decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
    >>> [round(e.value, 12) for e in (report.R, report.R_bias, report.R_volatility)]
    [0.2, 0.0, 0.2]
    """
    k = checked_norm(norm)
    array = read_preferences(p)
    X, C, K = array.shape
    grid = read_grid(
        (X, C),
        groups=groups,
        context_weights=context_weights,
        group_weights=group_weights,
        mask=mask,
    )
    labels = as_labels(categories, K, name="categories")
    expected = resolve_reference(reference, (X, C, K), mask=mask)

    total, square, risk = np.zeros(X), np.zeros(X), np.zeros(X)
    mean = np.zeros((X, K))
    largest = 1.0
    for rows, columns in blocks((X, C), depth=K):
        block = preference_block(array, grid, rows=rows, columns=columns)
        s, top = stereotype_block(
            block, expected, grid=grid, rows=rows, columns=columns, normalize=normalize
        )
        largest = max(largest, top)
        w = grid.cell_weights(rows, columns)
        total[rows] += w.sum(axis=1)
        square[rows] += (w * w).sum(axis=1)
        risk[rows] += (w * criterion(s, k)).sum(axis=1)
        for y in range(K):
            mean[rows, y] += (w * s[..., y]).sum(axis=1)

    observed = total > 0
    weights = grid.observed_weights(observed)
    divisor = np.where(observed, total, np.nan)
    tolerance = ROUNDING if normalize else ROUNDING * largest
    mean /= divisor[:, None]
    r = snap(risk / divisor, tolerance)
    r_bias = snap(criterion(mean, k), tolerance)
    r_volatility = snap(r - r_bias, tolerance)
    n_eff, n_eff_by_group = grid.effective_sizes(total, square)
    return RiskReport(
        groups=grid.groups,
        categories=labels,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        mean_stereotype=mean,
        group_weights=grid.group_weights,
        R=Estimate(weighted_mean(r, weights)),
        R_bias=Estimate(weighted_mean(r_bias, weights)),
        R_volatility=Estimate(weighted_mean(r_volatility, weights)),
        n_contexts=C,
        n_eff=n_eff,
        n_eff_by_group=n_eff_by_group,
        missing_cells=grid.missing_cells,
        missing_groups=tuple(g for g, seen in zip(grid.groups, observed, strict=True) if not seen),
        norm=k,
        normalized=normalize,
    )


def stereotype_block(
    block: FloatArray,
    reference: FloatArray,
    *,
    grid: Grid,
    rows: slice,
    columns: slice,
    normalize: bool,
) -> tuple[FloatArray, float]:
    """s of a block of cells [x,c,Y], divided by its scale if asked, and the largest scale met.

    s lies in memory category by category: the sums over contexts then run over neighbours.
    """
    K = block.shape[2]
    per_group, per_cell = reference.shape[0] > 1, reference.shape[1] > 1
    expected = reference[rows if per_group else slice(None), columns if per_cell else slice(None)]
    if grid.mask is not None and reference.shape[:2] == grid.shape:
        expected = np.where(grid.mask[rows, columns, None], expected, 1.0 / K)
    size = scale(expected)
    s = np.empty((K, *block.shape[:2]))
    for y in range(K):
        np.divide(block[..., y], expected[..., y], out=s[y])
        s[y] -= 1.0
        if normalize:
            s[y] /= size
    return np.moveaxis(s, 0, -1), float(size.max())
