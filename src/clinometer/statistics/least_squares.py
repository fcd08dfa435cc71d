"""The algebra under `regress`: one weighted fit and what is read off it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class WeightedFit:
    """A weighted fit: design Z [n,k] (constant first), y, weights w [n], b [k], residuals [n].

    `inverse` is (Z' W Z)^-1.
    """

    design: FloatArray
    y: FloatArray
    w: FloatArray
    b: FloatArray
    residual: FloatArray
    inverse: FloatArray

    def r_squared(self) -> float | None:
        """1 - weighted residual variance / weighted variance of y; None if y does not vary."""
        total = self._variance(self.y)
        return None if total <= 0 else float(1.0 - (self.w @ self.residual**2) / total)

    def standardized(self, j: int) -> float | None:
        """b_j times the weighted standard deviation of factor j over that of y."""
        total = self._variance(self.y)
        if total <= 0:
            return None
        return float(self.b[j] * np.sqrt(self._variance(self.design[:, j]) / total))

    def partial_correlation(self, j: int) -> float | None:
        """Weighted correlation of y and factor j after the other factors: t / sqrt(t² + df)."""
        own = self.b[j] ** 2 / self.inverse[j, j]
        left = float(self.w @ self.residual**2)
        whole = own + left
        return None if whole <= 0 else float(np.sign(self.b[j]) * np.sqrt(own / whole))

    def vif(self, j: int) -> float:
        """Variance inflation of factor j: 1 when it is uncorrelated with the others."""
        return float(self.inverse[j, j] * self._variance(self.design[:, j]))

    def _variance(self, values: FloatArray) -> float:
        """Weighted sum of squares about the weighted mean; rounding counts as 0."""
        mean = float(self.w @ values / self.w.sum())
        total = float(self.w @ (values - mean) ** 2)
        return 0.0 if total <= 1e-24 * self.w.sum() * max(mean * mean, 1e-300) else total


def fit_weighted(design: FloatArray, y: FloatArray, w: FloatArray) -> WeightedFit:
    """Minimise the sum of w (y - Z b)² by a QR decomposition."""
    root = np.sqrt(w)
    q, r = np.linalg.qr(root[:, None] * design)
    solved = np.linalg.solve(r, np.column_stack([q.T @ (root * y), np.eye(r.shape[0])]))
    b, inverse_r = solved[:, 0], solved[:, 1:]
    residual = y - design @ b
    # A perfect fit leaves rounding only: no variance can be read from it.
    residual = np.where(np.abs(residual) <= 1e-13 * np.abs(y).max(initial=1e-300), 0.0, residual)
    return WeightedFit(design, y, w, b, residual, inverse_r @ inverse_r.T)


def covariance(fit: WeightedFit, *, robust: str | None, known: FloatArray | None) -> FloatArray:
    """Covariance [k,k] of the coefficients.

    Args:
        fit: of `fit_weighted`.
        robust: "HC0", "HC1", "HC3", or None.
        known: variance of each y; with robust=None it takes the place of the residual variance.
    """
    n, k = fit.design.shape
    if robust is None and known is None:
        return np.asarray(fit.inverse * (fit.w @ fit.residual**2) / (n - k))
    bread = fit.inverse @ (fit.design * fit.w[:, None]).T
    if robust is None and known is not None:
        return np.asarray((bread * known) @ bread.T)
    residual = fit.residual
    if robust == "HC3":
        leverage = fit.w * np.einsum("ni,ij,nj->n", fit.design, fit.inverse, fit.design)
        room = 1.0 - leverage
        if (room <= 1e-10).any():
            raise SettingsError(
                "robust: expected no row that decides a coefficient alone, found one of leverage "
                "1; HC3 has no value there, take HC1"
            )
        residual = residual / room
    meat = (bread * residual**2) @ bread.T
    return np.asarray(meat * n / (n - k) if robust == "HC1" else meat)


def between_variance(design: FloatArray, y: FloatArray, variance: FloatArray) -> float:
    """tau² of Paule and Mandel: sum of (y - Z b)² / (tau² + v) = n - k; 0 if smaller at 0.

    b is fitted anew for each tau². The sum falls as tau² rises, so there is one root.

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
        w = 1.0 / (tau2 + variance)
        return float(w @ fit_weighted(design, y, w).residual ** 2 - (n - k))

    if excess(least) <= 0:
        return 0.0
    top = scale
    while excess(top) > 0:
        top *= 2.0
    return float(brentq(excess, least, top, xtol=1e-15 * scale, rtol=1e-14))
