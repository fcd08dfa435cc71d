"""Cronbach's alpha: do several ratings of the same things agree as if they measured one thing?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from clinometer.errors import SettingsError
from clinometer.statistics.estimate import Estimate


def cronbach_alpha(scores: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Alpha of n things scored in k ways [n, k], with Feldt's (1965) interval.

    alpha = k/(k-1) * (1 - sum of the k variances / variance of the sums). 1: the ways agree but for
    a shift; 0: they have nothing in common; below 0: they contradict each other. The interval takes
    (1 - true alpha)/(1 - alpha) as F with n-1 and (n-1)(k-1) degrees of freedom, which holds for
    normal scores. Rows with a missing score must be left out by the caller.

    >>> round(cronbach_alpha([[1, 2], [2, 3], [4, 5], [5, 6.5]]).value, 4)
    0.9958
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < 2 or x.shape[1] < 2:
        raise SettingsError(
            f"scores: expected at least 2 things scored in at least 2 ways, found shape {x.shape}"
        )
    if not np.isfinite(x).all():
        raise SettingsError("scores: expected finite numbers, found a missing one")
    n, k = x.shape
    total = float(x.sum(axis=1).var(ddof=1))
    if not total > 0:
        raise SettingsError("scores: expected things that differ, found the same sum for all")
    alpha = k / (k - 1) * (1.0 - float(x.var(axis=0, ddof=1).sum()) / total)
    share = (1.0 - level) / 2.0
    low, high = (
        1.0 - (1.0 - alpha) * float(stats.f.ppf(q, n - 1, (n - 1) * (k - 1)))
        for q in (1.0 - share, share)
    )
    return Estimate(alpha, low, high, level, "Feldt")
