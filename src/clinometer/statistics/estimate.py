"""A number with its interval, from resampled items (the percentile bootstrap) or of shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from clinometer.errors import SettingsError
from clinometer.settings import LEVEL
from clinometer.statistics.arrays import FloatArray


@dataclass(frozen=True, repr=False)
class Estimate:
    """A number, the interval around it, and how both were made.

    Attributes:
        value: the estimate; finite.
        low, high: ends of the interval; None when none has been computed. A corrected interval
            need not contain the plug-in value.
        level: the nominal coverage, for instance 0.95; None without an interval.
        method: "plug-in", or the name of the correction or resampling.
        note: why there is no interval, where one was asked for; else None.

    >>> Estimate(0.21347, 0.187, 0.24, 0.95)
    0.213 (0.187 to 0.240)
    >>> Estimate(0.2).to_dict()
    {'value': 0.2, 'low': None, 'high': None, 'level': None, 'method': 'plug-in'}
    >>> float(Estimate(0.21347)), f"{Estimate(0.21347):.2f}"
    (0.21347, '0.21')
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str = "plug-in"
    note: str | None = None

    def __post_init__(self) -> None:
        """Raise for half an interval, a reversed one, and values that are not finite."""
        if not math.isfinite(self.value):
            raise SettingsError(f"value: expected a finite number, found {self.value}")
        if self.low is None and self.high is None and self.level is None:
            return
        if self.low is None or self.high is None or self.level is None:
            raise SettingsError(
                "interval: expected low, high and level together, found only some"
            )
        if not self.low <= self.high or not math.isfinite(self.high - self.low):
            raise SettingsError(
                f"interval: expected low <= high, found {self.low}, {self.high}"
            )
        LEVEL.check("level", self.level)

    def __repr__(self) -> str:
        if self.low is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        """The value in the given format; without one, value and interval as `repr` shows them."""
        return format(self.value, spec) if spec else repr(self)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON; the note only where there is one."""
        return {k: v for k, v in vars(self).items() if k != "note" or v is not None}


def with_ends(name: str, e: Estimate | None) -> dict[str, float | None]:
    """An estimate as three columns of a table."""
    value, low, high = (None,) * 3 if e is None else (e.value, e.low, e.high)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def resampled_counts(
    counts: ArrayLike, replicates: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """[B, n] how often each of n kinds of items occurs in a bootstrap sample of all items (their
    `counts` [n])."""
    there = np.asarray(counts)
    total = int(there.sum())
    return generator.multinomial(total, there / total, size=replicates)


def central_interval(replicates: FloatArray, level: float) -> FloatArray:
    """[2, ...] the ends between which the central `level` of the replicates [B, ...] lies.

    >>> central_interval(np.arange(101.0), 0.9).round(9).tolist()
    [5.0, 95.0]
    """
    ends = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return np.asarray(ends, dtype=np.float64)


def around(
    value: float, low: float, high: float, level: float, method: str
) -> Estimate:
    """A value and an interval that is widened to hold it; the value alone where an end is NaN.

    >>> around(0.2, 0.25, 0.4, 0.95, "jackknife"), around(0.2, math.nan, 0.4, 0.95, "jackknife")
    (0.200 (0.200 to 0.400), 0.200)
    """
    if math.isnan(low) or math.isnan(high):
        return Estimate(value)
    return Estimate(value, min(low, value), max(high, value), level, method)


def percentile_estimate(
    value: float,
    replicates: FloatArray,
    *,
    level: float,
    method: str,
    contain: bool = False,
) -> Estimate:
    """A value with the central interval of its finite replicates [B]; without any, the value alone.

    `contain` widens the interval to the value: rank statistics of few items are lumpy.
    """
    finite = replicates[np.isfinite(replicates)]
    if not len(finite):
        return Estimate(value)
    low, high = central_interval(finite, level).tolist()
    make = around if contain else Estimate
    return make(value, low, high, level, method)


# --- Shares, and the difference and the ratio of two of independent samples -----------------------


def share(k: int, n: int, *, level: float = 0.95) -> Estimate:
    """k of n (at least 1), with Wilson's interval (1927).

    >>> share(8, 10)
    0.800 (0.490 to 0.943)
    """
    p, z2 = k / n, float(ndtri(0.5 + level / 2)) ** 2
    middle, reach = (
        p + z2 / (2 * n),
        math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))),
    )
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
    low, high = (
        math.hypot(a.value - la, hb - b.value),
        math.hypot(ha - a.value, b.value - lb),
    )
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
