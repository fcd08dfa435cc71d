"""Intervals of shares, and of the difference and the ratio of two of independent samples."""

from __future__ import annotations

import math

from scipy.special import ndtri

from clinometer.errors import SettingsError
from clinometer.statistics.estimate import Estimate


def share(k: int, n: int, *, level: float = 0.95) -> Estimate:
    """k of n (at least 1), with Wilson's interval (1927).

    >>> share(8, 10)
    0.800 (0.490 to 0.943)
    """
    p, z2 = k / n, float(ndtri(0.5 + level / 2)) ** 2
    middle, reach = p + z2 / (2 * n), math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n)))
    low, high = ((middle + sign * reach) / (1 + z2 / n) for sign in (-1, 1))
    return Estimate(p, max(low, 0.0), min(high, 1.0), level)


def difference(a: Estimate, b: Estimate) -> Estimate:
    """a - b of two shares, with Newcombe's interval (1998, method 10): each end is as far from the
    difference as the two nearer ends are together, squared and added.

    >>> difference(share(8, 10), share(4, 10))
    0.400 (-0.023 to 0.673)
    """
    (la, ha), (lb, hb) = _ends(a), _ends(b)
    d = a.value - b.value
    low, high = math.hypot(a.value - la, hb - b.value), math.hypot(ha - a.value, b.value - lb)
    return Estimate(d, d - low, d + high, a.level)


def ratio(a: Estimate, b: Estimate) -> Estimate | None:
    """a / b of two shares, with the ends at which a - end · b is zero by the same rule (Donner and
    Zou 2012); None where b is 0.

    >>> ratio(share(4, 10), share(8, 10))
    0.500 (0.208 to 1.040)
    """
    if not b.value > 0:
        return None
    (la, ha), (lb, hb) = _ends(a), _ends(b)
    p, q = a.value, b.value

    def end(to: float, other: float, sign: int) -> float:
        inside = (p * q) ** 2 - to * other * (2 * p - to) * (2 * q - other)
        return (p * q + sign * math.sqrt(max(inside, 0.0))) / (other * (2 * q - other))

    return Estimate(p / q, max(end(la, hb, -1), 0.0), end(ha, lb, 1), a.level)


def _ends(share: Estimate) -> tuple[float, float]:
    if share.low is None or share.high is None:
        raise SettingsError(f"expected a share with an interval, found {share!r}")
    return share.low, share.high
