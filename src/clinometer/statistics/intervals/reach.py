"""How far an arm of a normal or of Student's interval reaches, for a known standard error.

The only file that asks for quantiles of the two distributions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from clinometer.statistics.arrays import FloatArray


def normal_reach(standard_error: ArrayLike, *, level: float) -> FloatArray:
    """Return the length of each arm of a normal interval, z_((1 + level) / 2) × standard error.

    >>> normal_reach(1.0, level=0.95).round(2).item()
    1.96
    """
    quantile = float(ndtri(0.5 + level / 2))
    return np.asarray(quantile * np.asarray(standard_error, dtype=np.float64))


def normal_error(width: ArrayLike, *, level: float) -> FloatArray:
    """Return the standard errors of normal intervals from their widths, the inverse of
    `normal_reach`.

    >>> normal_error(3.92, level=0.95).round(2).item()
    1.0
    """
    return np.asarray(width, dtype=np.float64) / (2 * normal_reach(1.0, level=level))


def student_reach(
    standard_error: ArrayLike, degrees: ArrayLike, *, level: float
) -> FloatArray:
    """Return the length of each arm of Student's interval, t_((1 + level) / 2) × standard error.

    Args:
        standard_error: any shape.
        degrees: of freedom, a number or of the same shape.
        level: of the interval.

    >>> student_reach(1.0, 10, level=0.95).round(2).item()
    2.23
    """
    quantile = stdtrit(np.asarray(degrees, dtype=np.float64), (1 + level) / 2)
    return np.asarray(quantile * np.asarray(standard_error, dtype=np.float64))


def widening_for_several(degrees: float, comparisons: int, *, level: float) -> float:
    """Return how many times longer an arm of Student's interval is if all of several intervals
    shall hold together at `level` (Bonferroni).

    >>> widening_for_several(10, 1, level=0.95), round(widening_for_several(10, 20, level=0.95), 2)
    (1.0, 1.8)
    """
    together = 1 - (1 - level) / comparisons
    wider = student_reach(1.0, degrees, level=together)
    return float(wider / student_reach(1.0, degrees, level=level))


def detectable_difference(*, level: float, power: float) -> float:
    """Return how many standard errors large a difference is that is found this often.

    z_((1 + level) / 2) + z_power: half of such differences are found at the end of the interval,
    more of those that lie beyond it.

    >>> round(detectable_difference(level=0.95, power=0.8), 2)
    2.8
    """
    return float(normal_reach(1.0, level=level) + ndtri(power))
