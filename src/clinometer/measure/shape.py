"""The shape of a distribution of risks: normal in the middle, or heavy-tailed (4.5, C.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, as_real
from clinometer.statistics.weights import normalize_weights

LEAST = 8
"""Values needed for a test of shape; the kurtosis test needs LEAST_KURTOSIS."""

LEAST_KURTOSIS = 20

MOST_SHAPIRO = 5000
"""Beyond this size the p-value of the Shapiro-Wilk test is not accurate."""


@dataclass(frozen=True)
class ShapeTest(Plain):
    """A statistic and its p-value."""

    statistic: float
    p: float


@dataclass(frozen=True)
class Characteristics(Plain):
    """The shape of a distribution of values, as `distribution_characteristics` gives it.

    Attributes:
        n: values that count; fields below that could not be computed are None, see `note`.
        mean, sd: weighted; sd is that of the normal fit (divided by n, maximum likelihood).
        skewness, excess_kurtosis: weighted third and fourth standardised moments, 0 for the
            normal. Positive skewness: a long tail of high values. Positive excess kurtosis:
            heavier tails than the normal's.
        shapiro, anderson: tests of normality (small p: not normal).
        kurtosis_test: Anscombe and Glynn, one-sided: a small p means heavier tails than the
            normal's.
        student_df, student_test: Student's t fitted by maximum likelihood, its degrees of
            freedom (None when the normal fits as well), and the likelihood ratio against the
            normal (half of chi² with 1 degree, since the normal is at the edge).
        hill: tail index of the largest values: P(value > v) falls like v^-hill. Below 2 the
            variance is infinite; a normal tail has no index: the estimate is high and grows with n.
        hill_se: hill / sqrt(hill_k); hill_k: how many of the largest values it uses.
        qq: (normal quantile, value) pairs, in rising order: a straight line for a normal.
        note: one sentence if something could not be computed, else None.
    """

    n: int
    mean: float
    sd: float
    skewness: float | None = None
    excess_kurtosis: float | None = None
    shapiro: ShapeTest | None = None
    anderson: ShapeTest | None = None
    kurtosis_test: ShapeTest | None = None
    student_df: float | None = None
    student_test: ShapeTest | None = None
    hill: float | None = None
    hill_se: float | None = None
    hill_k: int | None = None
    qq: tuple[tuple[float, float], ...] = ()
    note: str | None = None

    def table(self) -> list[dict[str, Any]]:
        """One plain row per test: test, statistic, p."""
        tests = {
            "Shapiro-Wilk": self.shapiro,
            "Anderson-Darling": self.anderson,
            "kurtosis (fat tail)": self.kurtosis_test,
            "Student against normal": self.student_test,
        }
        return [
            {"test": name, "statistic": t and t.statistic, "p": t and t.p}
            for name, t in tests.items()
        ]


def distribution_characteristics(
    values: ArrayLike, *, weights: ArrayLike | None = None, hill_k: int | None = None
) -> Characteristics:
    """Normal fit with tests, moments, and the tail of a set of values (r^b or r^v of the groups).

    Args:
        values: [n]; NaN (a missing group) is left out.
        weights: [n], for mean, sd, skewness and kurtosis; a weight of 0 leaves the value out of
            everything else too. Tests, quantiles and the Hill estimator take each value once:
            they have no weighted form with a known distribution.
        hill_k: how many of the largest values the Hill estimator uses; None is the square root
            of n, rounded down, at least 2.

    Fewer than 8 values, or values that do not differ, have no tests: None, and a note. The
    kurtosis test needs 20, the Hill estimator positive values that differ in the tail. No value
    at all is an error.

    >>> shape = distribution_characteristics([1, 2, 3, 4, 5, 6, 7, 8])
    >>> round(shape.skewness, 12), round(shape.excess_kurtosis, 6), shape.hill_k
    (0.0, -1.238095, 2)
    >>> distribution_characteristics([0.2, 0.2]).note
    'the 2 values do not differ: no shape to describe'
    """
    x, w = _read(values, weights)
    n = x.size
    mean = float(w @ x)
    centred = x - mean
    sd = math.sqrt(float(w @ centred**2))
    if sd <= 1e-12 * max(1.0, abs(mean)):
        note = f"the {n} values do not differ: no shape to describe"
        return Characteristics(n=n, mean=mean, sd=0.0, note=note)
    skewness = float(w @ centred**3) / sd**3
    kurtosis = float(w @ centred**4) / sd**4 - 3.0
    ordered = np.sort(x)
    notes = []
    k, index = hill(ordered, hill_k)
    if index is None:
        notes.append("no Hill estimate: the largest values are not positive or do not differ")
    if n < LEAST:
        notes.insert(0, f"{n} values are too few for a test of shape, {LEAST} are needed")
    elif n < LEAST_KURTOSIS:
        notes.insert(0, f"{n} values are too few for the kurtosis test, {LEAST_KURTOSIS} needed")
    if n > MOST_SHAPIRO:
        notes.append(f"no Shapiro-Wilk test beyond {MOST_SHAPIRO} values")
    df, student = student_against_normal(x) if n >= LEAST else (None, None)
    return Characteristics(
        n=n,
        mean=mean,
        sd=sd,
        skewness=skewness,
        excess_kurtosis=kurtosis,
        shapiro=_shapiro(x) if LEAST <= n <= MOST_SHAPIRO else None,
        anderson=anderson_darling(ordered) if n >= LEAST else None,
        kurtosis_test=_kurtosis(x) if n >= LEAST_KURTOSIS else None,
        student_df=df,
        student_test=student,
        hill=index,
        hill_se=None if index is None else index / math.sqrt(k),
        hill_k=None if index is None else k,
        qq=_qq(ordered),
        note="; ".join(notes) or None,
    )


def anderson_darling(values: FloatArray) -> ShapeTest:
    """A² against a normal of the same mean and (n-1) deviation; p by D'Agostino and Stephens.

    >>> anderson_darling(np.arange(1.0, 9.0)).p > 0.5
    True
    """
    x = np.sort(values)
    n = x.size
    z = (x - x.mean()) / x.std(ddof=1)
    i = np.arange(1, n + 1)
    a2 = float(-n - np.sum((2 * i - 1) * (log_ndtr(z) + log_ndtr(-z)[::-1])) / n)
    a = a2 * (1 + 0.75 / n + 2.25 / n**2)
    if a < 0.2:
        p = 1 - math.exp(-13.436 + 101.14 * a - 223.73 * a * a)
    elif a < 0.34:
        p = 1 - math.exp(-8.318 + 42.796 * a - 59.938 * a * a)
    elif a < 0.6:
        p = math.exp(0.9177 - 4.279 * a - 1.38 * a * a)
    else:  # the parabola turns upwards far outside its range
        p = math.exp(1.2937 - 5.709 * a + 0.0186 * a * a) if a <= 13 else 0.0
    return ShapeTest(a2, p)


def hill(ordered: FloatArray, k: int | None = None) -> tuple[int, float | None]:
    """The k used and Hill's tail index 1 / mean of log(x_(n-i+1) / x_(n-k)), i = 1..k.

    `ordered` is in rising order. None when x_(n-k) is not positive or the tail does not vary.

    >>> hill(np.array([1.0, math.e, math.e]), 2)
    (2, 1.0)
    """
    n = ordered.size
    used = max(2, math.isqrt(n)) if k is None else k
    if isinstance(used, bool) or not isinstance(used, int) or used < 1:
        raise SettingsError(f"hill_k: expected a whole number of at least 1, found {k!r}")
    if k is not None and k >= n:
        raise SettingsError(f"hill_k: expected fewer than the {n} values, found {k}")
    if used >= n or ordered[n - used - 1] <= 0:
        return used, None
    excess = float(np.mean(np.log(ordered[n - used :] / ordered[n - used - 1])))
    return used, None if excess <= 1e-12 else 1.0 / excess


def student_against_normal(values: FloatArray) -> tuple[float | None, ShapeTest]:
    """Maximum likelihood of Student's t over that of the normal, and its degrees of freedom.

    The statistic is 2 (log L_t - log L_normal), at least 0; half of chi² with one degree of freedom
    gives p. Degrees of freedom are None when the normal is as likely.
    """
    from scipy.stats import t as student

    n, sd = values.size, float(values.std())
    normal = -n / 2 * (math.log(2 * math.pi * sd * sd) + 1)
    fitted = student.fit(values)
    statistic = max(0.0, 2 * (float(student.logpdf(values, *fitted).sum()) - normal))
    if statistic < 1e-6:
        return None, ShapeTest(0.0, 1.0)
    return float(fitted[0]), ShapeTest(statistic, float(ndtr(-math.sqrt(statistic))))


def _read(values: ArrayLike, weights: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    x = np.asarray(as_real(values, name="values"), dtype=np.float64)
    if x.ndim != 1:
        raise SettingsError(f"values: expected a list of numbers, found shape {x.shape}")
    if np.isinf(x).any():
        raise SettingsError("values: expected finite numbers or NaN, found infinity")
    seen = ~np.isnan(x)
    if not seen.any():
        raise SettingsError("values: expected at least one number, found none")
    if weights is None:
        return x[seen], np.full(int(seen.sum()), 1.0 / int(seen.sum()))
    given = as_real(weights, name="weights")
    if given.shape != x.shape:
        raise SettingsError(f"weights: expected {x.size} numbers, found shape {given.shape}")
    w = normalize_weights(given[seen], int(seen.sum()), name="weights")
    return x[seen][w > 0], w[w > 0]


def _shapiro(x: FloatArray) -> ShapeTest:
    from scipy.stats import shapiro

    result = shapiro(x - x.mean())
    return ShapeTest(float(result.statistic), float(result.pvalue))


def _kurtosis(x: FloatArray) -> ShapeTest:
    from scipy.stats import kurtosistest

    result = kurtosistest(x, alternative="greater")
    return ShapeTest(float(result.statistic), float(result.pvalue))


def _qq(ordered: FloatArray) -> tuple[tuple[float, float], ...]:
    """Normal quantiles at Blom's positions (i - 3/8) / (n + 1/4) beside the values."""
    at = ndtri((np.arange(1, ordered.size + 1) - 0.375) / (ordered.size + 0.25))
    return tuple((float(q), float(v)) for q, v in zip(at, ordered, strict=True))
