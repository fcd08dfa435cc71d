"""Is a risk related to a social factor? Weighted least squares with robust errors (4.4, C.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.settings import LEVEL
from clinometer.statistics.arrays import FloatArray, as_list, plain
from clinometer.statistics.intervals.reach import student_reach
from clinometer.statistics.significance import holm


def standard_errors(fit: Any) -> FloatArray:
    """Return the standard errors [k] of a fit, 0 where it is perfect."""
    # A perfect fit leaves rounding only: no variance can be read from it.
    if np.abs(fit.resid).max() <= 1e-13 * np.abs(fit.model.endog).max(initial=1e-300):
        return np.zeros(fit.params.size)
    leverage = np.sum(fit.model.wexog * fit.model.pinv_wexog.T, axis=1)
    if (leverage >= 1 - 1e-10).any():
        raise SettingsError(
            "factors: expected no row that decides a coefficient alone, found one of leverage 1, "
            "where robust errors have no value; leave the factor out, or take more rows"
        )
    return np.asarray(fit.bse)


def between_variance(design: FloatArray, y: FloatArray, variance: FloatArray) -> float:
    """Return tau² of Paule and Mandel: sum of (y - Z b)² / (tau² + v) = n - k; 0 if smaller at 0.

    Z is the design [n,k], v the variance [n] of each y. b is refitted for each tau². The sum falls
    as tau² rises, so there is one root.

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
        root_weight = 1.0 / np.sqrt(tau2 + variance)
        b = np.linalg.lstsq(root_weight[:, None] * design, root_weight * y, rcond=None)[
            0
        ]
        residuals = root_weight * (y - design @ b)
        return float(np.sum(residuals**2) - (n - k))

    if excess(least) <= 0:
        return 0.0
    top = scale
    while excess(top) > 0:
        top *= 2.0
    return float(brentq(excess, least, top, xtol=1e-15 * scale, rtol=1e-14))


@dataclass(frozen=True)
class Coefficient:
    """One factor of a regression."""

    name: str
    """Name of the factor; "intercept" for the constant."""

    value: float
    """Change of y for one unit of the factor, the others held."""

    se: float
    """Standard error."""

    p: float | None
    """Two-sided p-value (Student, n - parameters)."""

    low: float
    """Lower end of the interval."""

    high: float
    """Upper end of the interval."""

    p_holm: float | None = None
    """p after Holm's correction over the factors of `regress_each`, else None."""


@dataclass(frozen=True)
class Regression:
    """A weighted regression, as `regress` gives it."""

    coefficients: tuple[Coefficient, ...]
    """The intercept first, then the factors in the order given."""

    r_squared: float | None
    """Weighted share of the variance of y explained; None for a constant y."""

    n: int
    """Rows used."""

    tau2: float | None
    """Variance of y around the line beyond its measurement error; None without y_se."""

    level: float
    """Level of the intervals."""

    def __getitem__(self, name: str) -> Coefficient:
        """Return the coefficient of a factor."""
        by_name = {coefficient.name: coefficient for coefficient in self.coefficients}
        if name not in by_name:
            raise SettingsError(
                f"factor: expected one of the regression, found {name!r}"
            )
        return by_name[name]


def regress(
    y: ArrayLike,
    factors: Mapping[str, ArrayLike],
    *,
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    level: float = 0.95,
) -> Regression:
    """Return weighted least squares of y on an intercept and the factors together.

    b = (Z' W Z)^-1 Z' W y. Standard errors are robust: those of the sandwich, each residual divided
    by 1 - leverage (HC3, the most careful with few rows). A positive coefficient says that y is
    higher where the factor is; it does not say why.

    Args:
        y: [n], for instance r_x; NaN where missing.
        factors: name -> [n]; NaN where missing. A row that lacks any of them is left out.
        weights: [n], importance of a row (employment); NaN or 0 leaves it out; None is equal.
        y_se: [n], standard error of each y (measurement error of r_x). The rows then weigh
            weight / (tau² + se²), with tau² the variance around the line beyond the measurement
            error (Paule and Mandel: the tau² at which the weighted residual sum of squares is
            n - parameters; 0 if it is below that already). Errors are taken as independent
            between rows.
        level: of the intervals.

    No more rows than parameters, a constant factor, collinear factors and weights that are all 0
    are errors. A perfect fit has standard errors of 0 and no p.

    >>> fit = regress([1.0, 2.0, 2.0, 4.0], {"salary": [0.0, 1.0, 2.0, 3.0]})
    >>> round(fit["salary"].value, 12), round(fit["salary"].se, 6), fit.n
    (0.9, 0.425225, 4)
    """
    require("a regression", "statsmodels")
    from statsmodels.regression.linear_model import WLS

    LEVEL.check("level", level)
    rows = _Rows.read(y, factors, weights, y_se)
    _check_design(rows.design, rows.weights, rows.names)
    importance = rows.weights / rows.weights.mean()
    tau2 = None
    if rows.error is not None:
        tau2 = between_variance(rows.design, rows.response, rows.error**2)
        variance = tau2 + rows.error**2
        if not (variance > 0).all():
            raise SettingsError(
                "y_se: expected positive standard errors, found 0 and no other variance; "
                "leave y_se out"
            )
        importance = importance / variance
    model = WLS(rows.response, rows.design, weights=importance)
    fit = model.fit(use_t=True, cov_type="HC3")
    varies = _varies(rows.response, importance)
    return Regression(
        _coefficients(fit, standard_errors(fit), rows.names, level),
        r_squared=float(fit.rsquared) if varies else None,
        n=rows.design.shape[0],
        tau2=tau2,
        level=float(level),
    )


def _varies(response: FloatArray, weights: FloatArray) -> bool:
    """Return whether a response varies by more than rounding."""
    mean = float(np.average(response, weights=weights))
    variance = np.average((response - mean) ** 2, weights=weights)
    return bool(variance > (1e-12 * mean) ** 2)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The complete rows of a regression."""

    names: list[str]
    """Names of the factors."""

    response: FloatArray
    """[n], y."""

    design: FloatArray
    """[n,1+F], ones and the factors."""

    weights: FloatArray
    """[n], above 0."""

    error: FloatArray | None
    """[n], standard errors of y; None where they were not given."""

    @classmethod
    def read(
        cls,
        y: ArrayLike,
        factors: Mapping[str, ArrayLike],
        weights: ArrayLike | None,
        y_se: ArrayLike | None,
    ) -> _Rows:
        """Read and check the arguments of `regress`, and leave out rows that lack a number or have
        no weight."""
        names = _factor_names(factors)
        n = as_list(y, name="y").size
        response = _column(y, name="y", n=n)
        columns = [_column(factors[name], name=name, n=n) for name in names]
        importance = np.ones(n)
        if weights is not None:
            importance = _column(weights, name="weights", n=n)
        error = None if y_se is None else _column(y_se, name="y_se", n=n)
        if (importance < 0).any() or (error is not None and (error < 0).any()):
            raise SettingsError(
                "weights, y_se: expected numbers of at least 0, found a negative one"
            )
        if not (importance > 0).any():
            raise SettingsError(
                "weights: expected a positive sum, found only zeros; give some weight"
            )
        numbers = [response, *columns, importance]
        if error is not None:
            numbers.append(error)
        complete = ~np.isnan(numbers).any(axis=0) & (importance > 0)
        design = np.column_stack([np.ones(n), *columns])
        return cls(
            names,
            response=response[complete],
            design=design[complete],
            weights=importance[complete],
            error=None if error is None else error[complete],
        )


def regress_each(
    y: ArrayLike,
    factors: Mapping[str, ArrayLike],
    *,
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
) -> dict[str, Regression]:
    """Return `regress` on each factor alone, with Holm's correction over the factors (`p_holm`).

    Each rests on the rows that have its factor, so their n may differ.

    >>> fits = regress_each([1.0, 2.0, 2.0, 4.0, 3.0],
    ...                     {"a": [0, 1, 2, 3, 4], "b": [1, 0, 1, 0, 1]})
    >>> all(fits[f][f].p_holm >= fits[f][f].p for f in fits)
    True
    """
    fits = {}
    p_values = []
    for name in _factor_names(factors):
        fit = regress(y, {name: factors[name]}, weights=weights, y_se=y_se)
        fits[name] = fit
        p = fit[name].p
        p_values.append(np.nan if p is None else p)
    corrected = holm(p_values).tolist()
    for (name, fit), p_holm in zip(list(fits.items()), corrected, strict=True):
        intercept = fit.coefficients[0]
        factor = replace(fit[name], p_holm=plain(p_holm))
        fits[name] = replace(fit, coefficients=(intercept, factor))
    return fits


def _factor_names(factors: Mapping[str, ArrayLike]) -> list[str]:
    """Return the names of the factors, one at least."""
    names = list(factors)
    if not names or "intercept" in names:
        raise SettingsError(
            f"factors: expected one at least, not 'intercept', found {names}"
        )
    return names


def _column(values: ArrayLike, *, name: str, n: int) -> FloatArray:
    """Read n numbers, of which some may be NaN."""
    array = as_list(values, name=name)
    if array.size != n:
        raise SettingsError(
            f"{name}: expected {n} numbers, one per row, found {array.size}"
        )
    if np.isinf(array).any():
        raise SettingsError(f"{name}: expected finite numbers or NaN, found infinity")
    return array


def _check_design(design: FloatArray, w: FloatArray, names: Sequence[str]) -> None:
    """Refuse too few rows, factors that do not vary, and collinear ones."""
    n, k = design.shape
    if n <= k:
        raise SettingsError(
            f"rows: expected more than {k} complete rows for {k} parameters, found {n}; "
            "take fewer factors or more rows"
        )
    factors = design[:, 1:]
    means = w @ factors / w.sum()
    centred = factors - means
    deviations = np.sqrt(w @ centred**2 / w.sum())
    for name, deviation, mean in zip(names, deviations, means, strict=True):
        if deviation <= 1e-12 * abs(mean):
            raise SettingsError(
                f"{name}: expected a factor that varies, found {mean:g} only"
            )
    standardised = np.sqrt(w)[:, None] * centred / deviations
    singular_values = np.linalg.svd(standardised, compute_uv=False)
    if singular_values[-1] <= 1e-9 * singular_values[0]:
        raise SettingsError(
            f"factors: expected independent ones, found {', '.join(names)} collinear"
        )


def _coefficients(
    fit: Any, se: FloatArray, names: Sequence[str], level: float
) -> tuple[Coefficient, ...]:
    """Return the intercept and the factors of a fit, with these standard errors [k]."""
    b = fit.params
    reach = student_reach(se, fit.df_resid, level=level)
    t = np.divide(b, se, out=np.full(b.size, np.nan), where=se > 0)
    p = 2 * stdtr(fit.df_resid, -np.abs(t))
    coefficients = []
    for j, name in enumerate(["intercept", *names]):
        coefficient = Coefficient(
            name=name,
            value=float(b[j]),
            se=float(se[j]),
            p=plain(p[j]),
            low=float(b[j] - reach[j]),
            high=float(b[j] + reach[j]),
        )
        coefficients.append(coefficient)
    return tuple(coefficients)
