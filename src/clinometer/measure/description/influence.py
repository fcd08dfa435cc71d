"""How much each context contributes to the volatility risk: leave one out, in one pass."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from clinometer.measure.equations.criterion import RiskScale, criterion, read_scale
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import FloatArray


def context_influence(grid: PreferenceGrid, **scaling: Unpack[RiskScale]) -> FloatArray:
    """R^v minus R^v without the context, for each context [C].

    Positive: the context adds to the volatility. Negative: it steadies the mean. With
    S = sum of w_c s_c and W = sum of w_c, the risks without context c are

    r(-c) = (W r - w_c J(s_c)) / (W - w_c),   r^b(-c) = J((S - w_c s_c) / (W - w_c)),

    so all of them come from two sums. NaN for a single context, without which nothing remains.

    >>> from clinometer.measure.grid import read_preferences
    >>> context_influence(read_preferences([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]])).round(3).tolist()
    [0.0, 0.0, 0.0]
    >>> context_influence(read_preferences([[0.1, 0.9], [0.9, 0.1], [0.9, 0.1]])).round(3).tolist()
    [0.533, -0.267, -0.267]
    """
    k, normalize = read_scale(**scaling)
    X, C = grid.shape
    everything = slice(0, C)
    weight_sum, lost = np.zeros(C), np.zeros(C)
    for x in range(X):
        rows = slice(x, x + 1)
        s, _ = grid.stereotypes(rows, everything, normalize=normalize)
        s, w = s[0], grid.cell_weights(rows, everything)[0]
        total = w.sum()
        if total == 0:
            continue
        j = criterion(s, k)
        rest = total - w
        left = rest > 1e-12 * total  # something remains when the context is gone
        volatility = (w @ j - criterion(w @ s, k)) / total
        without = (w @ j - w[left] * j[left]) - criterion(w @ s - w[left, None] * s[left], k)
        share = grid.group_weights[x]
        lost[left] += share * (volatility - without / rest[left])
        weight_sum[left] += share
    return np.asarray(np.divide(lost, weight_sum, out=np.full(C, np.nan), where=weight_sum > 0))
