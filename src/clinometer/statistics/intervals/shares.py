"""A share, and the difference and the ratio of two shares of independent samples."""

from __future__ import annotations

import math

from clinometer.errors import SettingsError
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.reach import normal_reach


def share(k: int, n: int, *, level: float = 0.95) -> Estimate:
    """Return k of n (at least 1), with Wilson's interval (1927).

    The ends are the shares p from which k / n is z standard errors sqrt(p (1 - p) / n) away.

    >>> share(8, 10)
    0.800 (0.490 to 0.943)
    """
    p = k / n
    z_squared = float(normal_reach(1.0, level=level)) ** 2
    centre = p + z_squared / (2 * n)
    reach = math.sqrt(z_squared * (p * (1 - p) / n + z_squared / (4 * n * n)))
    low = (centre - reach) / (1 + z_squared / n)
    high = (centre + reach) / (1 + z_squared / n)
    return Estimate(p, max(low, 0.0), min(high, 1.0), level)


def difference(a: Estimate, b: Estimate) -> Estimate:
    """Return a - b of two shares, with Newcombe's interval (1998, method 10).

    Each end is as far from the difference as the two nearer ends are together, squared and added.

    >>> difference(share(8, 10), share(4, 10))
    0.400 (-0.023 to 0.673)
    """
    a_low, a_high = _ends(a)
    b_low, b_high = _ends(b)
    gap = a.value - b.value
    below = math.hypot(a.value - a_low, b_high - b.value)
    above = math.hypot(a_high - a.value, b.value - b_low)
    return Estimate(gap, gap - below, gap + above, a.level)


def ratio(a: Estimate, b: Estimate) -> Estimate | None:
    """Return a / b of two shares, with the ends at which a - end × b is zero by the rule of
    `difference` (Donner and Zou 2012); None where b is 0.

    >>> ratio(share(4, 10), share(8, 10))
    0.500 (0.208 to 1.040)
    """
    if not b.value > 0:
        return None
    a_low, a_high = _ends(a)
    b_low, b_high = _ends(b)
    low = _end_of_ratio(a.value, b.value, a_low, b_high, sign=-1)
    high = _end_of_ratio(a.value, b.value, a_high, b_low, sign=1)
    return Estimate(a.value / b.value, max(low, 0.0), high, a.level)


def _end_of_ratio(
    p: float, q: float, p_end: float, q_end: float, *, sign: int
) -> float:
    """Return the root r of (p - r q)² = (p - p_end)² + r² (q - q_end)² on one side of p / q."""
    discriminant = (p * q) ** 2 - p_end * q_end * (2 * p - p_end) * (2 * q - q_end)
    root = math.sqrt(max(discriminant, 0.0))
    return (p * q + sign * root) / (q_end * (2 * q - q_end))


def _ends(estimate: Estimate) -> tuple[float, float]:
    """Return the low and high end of an estimate that has an interval."""
    if estimate.low is None or estimate.high is None:
        raise SettingsError(f"expected a share with an interval, found {estimate!r}")
    return estimate.low, estimate.high
