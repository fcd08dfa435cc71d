"""Do scoring models agree on which statements are reliable? Barely, so it is always reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tiltmeter.measure import Estimate


@dataclass(frozen=True)
class RankAgreement:
    """Spearman's rank correlation of two models' scores over the statements both have scored.

    1: the same order; 0: none. `rho` is None with fewer than three statements, or when one model
    gives all of them the same score.
    """

    a: str
    b: str
    n: int
    rho: Estimate | None

    def to_dict(self) -> dict[str, Any]:
        rho = None if self.rho is None else self.rho.to_dict()
        return {"a": self.a, "b": self.b, "n": self.n, "rho": rho}


def rank_agreement(
    scores: Mapping[str, NDArray[np.float64]],
    *,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> list[RankAgreement]:
    """Every pair of models, with a percentile bootstrap over statements."""
    found = []
    for a, b in combinations(scores, 2):
        both = np.isfinite(scores[a]) & np.isfinite(scores[b])
        x, y = scores[a][both], scores[b][both]
        found.append(RankAgreement(a, b, len(x), _spearman(x, y, replicates, level, seed)))
    return found


def _spearman(
    x: NDArray[np.float64], y: NDArray[np.float64], replicates: int, level: float, seed: int
) -> Estimate | None:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    value = _correlation(rankdata(x), rankdata(y))
    if replicates < 1:
        return Estimate(value)
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(replicates):
        index = generator.integers(len(x), size=len(x))
        if np.ptp(x[index]) > 0 and np.ptp(y[index]) > 0:
            drawn.append(_correlation(rankdata(x[index]), rankdata(y[index])))
    share = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [share, 1.0 - share])
    return Estimate(value, float(low), float(high), level, "bootstrap over statements")


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    dx, dy = x - x.mean(), y - y.mean()
    return float((dx @ dy) / np.sqrt((dx @ dx) * (dy @ dy)))
