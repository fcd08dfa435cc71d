"""Where a rising function of a grid, or of a continuous argument, reaches a value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clinometer.statistics.arrays import FloatArray


def solved(share: Callable[[FloatArray], FloatArray], tail: float, low: FloatArray) -> FloatArray:
    """x [n] from `low` up to 0 at which a rising share(x) reaches tail, by halving."""
    high = np.zeros_like(low)
    for _ in range(40):
        middle = (low + high) / 2
        over = share(middle) > tail
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return high


def crossing(truth: FloatArray, values: FloatArray) -> FloatArray:
    """Where values [S,X], rising along truth [S,X], first reach 0: 0 and the last at the ends."""
    above = values >= 0
    right = np.where(above.any(axis=0), above.argmax(axis=0), len(truth) - 1)[None]
    left = np.maximum(right - 1, 0)
    a, b = np.take_along_axis(values, left, 0)[0], np.take_along_axis(values, right, 0)[0]
    x, y = np.take_along_axis(truth, left, 0)[0], np.take_along_axis(truth, right, 0)[0]
    share = np.clip(np.divide(-a, b - a, out=np.zeros(a.size), where=b > a), 0.0, 1.0)
    return np.asarray(x + share * (y - x))
