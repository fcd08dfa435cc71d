"""Do two rankings agree? Spearman's rho, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import percentile_estimate

_BLOCK = 4_000_000
"""Values sampled at once by the bootstrap."""


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
    """Return the correlation of the ranks of x and y; `given`: of what a straight line in its ranks
    leaves.

    The interval is a percentile bootstrap over items (`unit` is their name). None with fewer items
    than the numbers need, or when a measure does not vary.

    >>> found = spearman(np.arange(8.0), np.arange(8.0) ** 3, replicates=0)
    >>> round(found.rho.value, 12)
    1.0
    """
    columns = [x, y]
    if given is not None:
        columns.append(given)
    bootstrap = _Bootstrap.of(columns, replicates, seed)
    if bootstrap is None:
        return None
    rho = percentile_estimate(
        bootstrap.value,
        bootstrap.replicates,
        level=level,
        method=f"bootstrap over {unit}",
        contain=True,
    )
    p = _p_of_no_correlation(bootstrap.value, degrees=len(x) - len(columns))
    return RankCorrelation(len(x), rho, p)


def _p_of_no_correlation(rho: float, *, degrees: int) -> float:
    """Return the two-sided p-value of Student's t = rho sqrt(degrees / (1 - rho²))."""
    unexplained = max(1 - rho * rho, 0.0)
    if unexplained == 0:
        return 0.0
    t = abs(rho) * np.sqrt(degrees / unexplained)
    return float(2 * stdtr(degrees, -t))


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
    """Return the correlation of a with y less that of b with y, over the same items: a paired
    bootstrap.

    Above 0: a follows y more closely. None where one of the two correlations does not exist.
    """
    others = [y] if given is None else [y, given]
    of_a = _Bootstrap.of([a, *others], replicates, seed)
    of_b = _Bootstrap.of([b, *others], replicates, seed)
    if of_a is None or of_b is None:
        return None
    return percentile_estimate(
        of_a.value - of_b.value,
        of_a.replicates - of_b.replicates,
        level=level,
        method=f"paired bootstrap over {unit}",
    )


@dataclass(frozen=True, eq=False)
class _Bootstrap:
    """Rho of items, and of samples of the items [B]."""

    value: float
    replicates: FloatArray

    @classmethod
    def of(
        cls, columns: Sequence[FloatArray], replicates: int, seed: int
    ) -> _Bootstrap | None:
        """Return rho of two or three columns [n]; None with too few items, or when a column does
        not vary."""
        data = np.stack(columns)
        n = data.shape[1]
        value = float(_rho(data)) if n > len(columns) else np.nan
        if not np.isfinite(value):
            return None
        generator = np.random.default_rng(seed)
        samples = [np.empty(0)]
        in_a_block = max(1, _BLOCK // (n * len(data)))
        for start in range(0, replicates, in_a_block):
            size = min(in_a_block, replicates - start)
            index = generator.integers(n, size=(size, n))
            samples.append(_rho(data[:, index]))
        return cls(value, np.concatenate(samples))


def _rho(values: FloatArray) -> FloatArray:
    """Return the correlation [...] of the ranks of rows 0 and 1 of values [2 or 3, ..., n], given
    row 2 if there is one; NaN where a row does not vary."""
    # Loads slowly, and the command line imports this module.
    from scipy.stats import rankdata

    ranks = np.asarray(rankdata(values, axis=-1))
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    length = np.sqrt((centred * centred).sum(axis=-1, keepdims=True))
    missing = np.full_like(centred, np.nan)
    z = np.divide(centred, length, out=missing, where=length > 0)
    rho = (z[0] * z[1]).sum(axis=-1)
    if len(z) == 2:
        return np.asarray(rho)
    with_first = (z[0] * z[2]).sum(axis=-1)
    with_second = (z[1] * z[2]).sum(axis=-1)
    unexplained = (1 - with_first**2) * (1 - with_second**2)
    partial = np.divide(
        rho - with_first * with_second,
        np.sqrt(np.maximum(unexplained, 0)),
        out=np.full_like(rho, np.nan),
        where=unexplained > 1e-12,
    )
    return np.asarray(partial)
