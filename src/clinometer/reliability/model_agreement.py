"""Do scoring models agree on which statements are reliable? Barely, so this is always reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from clinometer.display.plain import Plain
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.rank import spearman


@dataclass(frozen=True)
class RankAgreement(Plain):
    """Spearman's rank correlation of two models' scores over the statements both have scored.

    1: the same order; 0: unrelated. `rho` is None with fewer than three statements, or if one model
    gives all of them the same score.
    """

    a: str
    b: str
    n: int
    rho: Estimate | None


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
        rho = spearman(x, y, replicates=replicates, level=level, seed=seed, unit="statements")
        found.append(RankAgreement(a, b, len(x), None if rho is None else rho.rho))
    return found
