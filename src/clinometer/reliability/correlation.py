"""Rank correlation of two measures, if wished with a third one held: value, interval, p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from clinometer.measure import Estimate

Floats = NDArray[np.float64]
#: Values drawn at once by the bootstrap.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho over n items and its two-sided p (Student, n - 2 - measures held)."""

    n: int
    rho: Estimate
    p: float

    def to_dict(self) -> dict[str, Any]:
        return {"n": self.n, "rho": self.rho.to_dict(), "p": self.p}


def spearman(
    x: Floats,
    y: Floats,
    *,
    given: Floats | None = None,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    unit: str = "items",
) -> RankCorrelation | None:
    """Correlation of the ranks of x and y; `given`: of what a straight line in its ranks leaves.

    The interval is a percentile bootstrap over items (`unit` is their name). None with fewer items
    than the numbers need, or when a measure does not vary.

    >>> found = spearman(np.arange(8.0), np.arange(8.0) ** 3, replicates=0)
    >>> round(found.rho.value, 12)
    1.0
    """
    columns = [x, y] if given is None else [x, y, given]
    data = np.stack(columns)  # [2 or 3, n]
    n = data.shape[1]
    df = n - len(columns)
    if df < 1:
        return None
    value = float(_rho(_ranks(data)))
    if not np.isfinite(value):
        return None
    drawn = _drawn(data, replicates, seed)
    drawn = drawn[np.isfinite(drawn)]
    rho = Estimate(value)
    if len(drawn):
        share = (1 - level) / 2
        low, high = (float(v) for v in np.quantile(drawn, [share, 1 - share]))
        rho = Estimate(value, min(low, value), max(high, value), level, f"bootstrap over {unit}")
    rest = max(1 - value * value, 0.0)
    p = 0.0 if rest == 0 else float(2 * stdtr(df, -abs(value) * np.sqrt(df / rest)))
    return RankCorrelation(n, rho, p)


def _ranks(data: Floats) -> Floats:
    from scipy.stats import rankdata  # loads slowly, and the command line imports this module

    return np.asarray(rankdata(data, axis=-1))


def _drawn(data: Floats, replicates: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    n = data.shape[1]
    found = [np.empty(0)]
    left, step = replicates, max(1, _BLOCK // (n * len(data)))
    while left > 0:
        index = generator.integers(n, size=(min(step, left), n))
        found.append(_rho(_ranks(data[:, index])))
        left -= step
    return np.concatenate(found)


def _rho(ranks: Floats) -> Floats:
    """Correlation [...] of rows 0 and 1 of ranks [2 or 3, ..., n], row 2 held if there is one."""
    z = ranks - ranks.mean(axis=-1, keepdims=True)
    size = np.sqrt((z * z).sum(axis=-1, keepdims=True))
    z = np.divide(z, size, out=np.full_like(z, np.nan), where=size > 0)
    r = (z[0] * z[1]).sum(axis=-1)
    if len(z) == 2:
        return np.asarray(r)
    a, b = (z[0] * z[2]).sum(axis=-1), (z[1] * z[2]).sum(axis=-1)
    left = (1 - a * a) * (1 - b * b)
    size = np.sqrt(np.maximum(left, 0))
    found = np.divide(r - a * b, size, out=np.full_like(r, np.nan), where=left > 1e-12)
    return np.asarray(found)
