"""The algebra under `regress`: standard errors of a weighted fit, and variance beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.statistics.arrays import FloatArray


def fit_weighted(design: FloatArray, y: FloatArray, w: FloatArray, **how: Any) -> Any:
    """statsmodels' results of minimising the sum of w (y - Z b)²."""
    require("a regression", "statsmodels")
    from statsmodels.regression.linear_model import WLS

    return WLS(y, design, weights=w).fit(use_t=True, **how)


def standard_errors(fit: Any, *, importance: FloatArray | None) -> FloatArray:
    """Standard errors [k] of a fit, 0 where it is perfect.

    With `importance` [n] the fit weighs importance / variance, the variances are known, and take
    the place of the residuals.
    """
    if importance is not None:
        bread = fit.model.pinv_wexog
        return np.asarray(np.sqrt(np.diag((bread * importance) @ bread.T)))
    # A perfect fit leaves rounding only: no variance can be read from it.
    if np.abs(fit.resid).max() <= 1e-13 * np.abs(fit.model.endog).max(initial=1e-300):
        return np.zeros(fit.params.size)
    if fit.cov_type == "HC3":
        leverage = np.sum(fit.model.wexog * fit.model.pinv_wexog.T, axis=1)
        if (leverage >= 1 - 1e-10).any():
            raise SettingsError(
                "robust: expected no row that decides a coefficient alone, found one of leverage "
                "1; HC3 has no value there, take HC1"
            )
    return np.asarray(fit.bse)


def spread(values: FloatArray, w: FloatArray) -> float:
    """Weighted sum of squares about the weighted mean; rounding counts as 0."""
    mean = float(w @ values / w.sum())
    total = float(w @ (values - mean) ** 2)
    return 0.0 if total <= 1e-24 * w.sum() * max(mean * mean, 1e-300) else total


def between_variance(design: FloatArray, y: FloatArray, variance: FloatArray) -> float:
    """tau² of Paule and Mandel: sum of (y - Z b)² / (tau² + v) = n - k; 0 if smaller at 0.

    b is refitted for each tau². The sum falls as tau² rises, so there is one root.

    >>> y, ones = np.array([0.0, 2.0, 4.0]), np.ones((3, 1))
    >>> round(between_variance(ones, y, np.full(3, 1.0)), 9)
    3.0
    """
    # scipy.optimize takes longer to import than all of this takes to run.
    from scipy.optimize import brentq

    n, k = design.shape
    # Rows measured without error weigh infinitely at tau² = 0: start just above it.
    scale = max(float(np.var(y)), float(variance.mean()))
    if scale <= 0:
        return 0.0
    least = 0.0 if (variance > 0).all() else 1e-12 * scale

    def excess(tau2: float) -> float:
        root = 1.0 / np.sqrt(tau2 + variance)
        b = np.linalg.lstsq(root[:, None] * design, root * y, rcond=None)[0]
        return float(np.sum((root * (y - design @ b)) ** 2) - (n - k))

    if excess(least) <= 0:
        return 0.0
    top = scale
    while excess(top) > 0:
        top *= 2.0
    return float(brentq(excess, least, top, xtol=1e-15 * scale, rtol=1e-14))
