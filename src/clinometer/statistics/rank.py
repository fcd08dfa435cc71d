"""Do two rankings agree? Spearman's rho, with intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import percentile_estimate

#: Values sampled at once by the bootstrap.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho over n items and its two-sided p (Student, n - 2 - measures held)."""

    n: int
    rho: Estimate
    p: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def spearman(
    x: FloatArray,
    y: FloatArray,
    *,
    given: FloatArray | None = None,
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
    bootstrap = _bootstrap(columns, replicates, seed)
    if bootstrap is None:
        return None
    value, samples = bootstrap
    rho = percentile_estimate(
        value, samples, level=level, method=f"bootstrap over {unit}", contain=True
    )
    df, rest = len(x) - len(columns), max(1 - value * value, 0.0)
    p = 0.0 if rest == 0 else float(2 * stdtr(df, -abs(value) * np.sqrt(df / rest)))
    return RankCorrelation(len(x), rho, p)


def spearman_difference(
    a: FloatArray,
    b: FloatArray,
    y: FloatArray,
    *,
    given: FloatArray | None = None,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    unit: str = "items",
) -> Estimate | None:
    """Correlation of a with y less that of b with y, over the same items: a paired bootstrap.

    Above 0: a follows y more closely. None where one of the two correlations does not exist.
    """
    rest = [y] if given is None else [y, given]
    first, second = (_bootstrap([x, *rest], replicates, seed) for x in (a, b))
    if first is None or second is None:
        return None
    method = f"paired bootstrap over {unit}"
    return percentile_estimate(
        first[0] - second[0], first[1] - second[1], level=level, method=method
    )


def _bootstrap(
    columns: list[FloatArray], replicates: int, seed: int
) -> tuple[float, FloatArray] | None:
    """Rho of two or three columns [n], and of samples of their items [B]; None with too few items,
    or when a column does not vary."""
    data = np.stack(columns)
    n = data.shape[1]
    value = float(_rho(data)) if n > len(columns) else np.nan
    if not np.isfinite(value):
        return None
    generator = np.random.default_rng(seed)
    samples = [np.empty(0)]
    left, step = replicates, max(1, _BLOCK // (n * len(data)))
    while left > 0:
        index = generator.integers(n, size=(min(step, left), n))
        samples.append(_rho(data[:, index]))
        left -= step
    return value, np.concatenate(samples)


def _rho(values: FloatArray) -> FloatArray:
    """Correlation [...] of the ranks of rows 0 and 1 of values [2 or 3, ..., n], given row 2 if
    there is one."""
    from scipy.stats import (
        rankdata,
    )  # loads slowly, and the command line imports this module

    ranks = np.asarray(rankdata(values, axis=-1))
    z = ranks - ranks.mean(axis=-1, keepdims=True)
    size = np.sqrt((z * z).sum(axis=-1, keepdims=True))
    z = np.divide(z, size, out=np.full_like(z, np.nan), where=size > 0)
    r = (z[0] * z[1]).sum(axis=-1)
    if len(z) == 2:
        return np.asarray(r)
    a, b = (z[0] * z[2]).sum(axis=-1), (z[1] * z[2]).sum(axis=-1)
    left = (1 - a * a) * (1 - b * b)
    size = np.sqrt(np.maximum(left, 0))
    missing = np.full_like(r, np.nan)
    return np.asarray(np.divide(r - a * b, size, out=missing, where=left > 1e-12))
