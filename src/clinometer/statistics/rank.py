"""Do two rankings of the same models agree? Kendall's tau with an interval."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import ROUNDING, FloatArray


def kendall(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Kendall's tau of values [..,M] and [..,M]: pairs in the same order minus pairs in opposite
    order, over all pairs.

    1: the same ranking; -1: the opposite one; about 0: none of the one in the other. A pair that
    ties in either counts for neither (tau-a).

    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).round(3).item()
    0.667
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape[-1] != y.shape[-1] or x.shape[-1] < 2:
        raise SettingsError(
            f"kendall: expected the same two or more models twice, found {x.shape[-1]} and "
            f"{y.shape[-1]}"
        )
    i, j = np.array(list(itertools.combinations(range(x.shape[-1]), 2))).T
    return np.asarray((_order(x, i, j) * _order(y, i, j)).mean(axis=-1))


def kendall_interval(a: FloatArray, b: FloatArray, *, level: float = 0.95) -> tuple[float, float]:
    """Quantiles of tau over replicates [B,M] of both rankings, drawn independently of each other.

    With few models tau has few values (M = 4: seven), and so have the ends.
    """
    low, high = np.quantile(kendall(a, b), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _order(values: FloatArray, i: FloatArray, j: FloatArray) -> FloatArray:
    gap = values[..., i] - values[..., j]
    return np.asarray(np.where(np.abs(gap) <= ROUNDING, 0.0, np.sign(gap)))
