"""Shape of a distribution against scipy and statsmodels, by hand, and degenerate input."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import betaln
from statsmodels.stats.diagnostic import normal_ad
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.measure.shape import distribution_characteristics
from clinometer.statistics.arrays import FloatArray


@pytest.mark.parametrize("kind", ["normal", "lognormal", "uniform", "student"])
def test_against_scipy_and_statsmodels(rng: np.random.Generator, kind: str) -> None:
    x = {
        "normal": lambda: rng.normal(0.5, 0.1, 120),
        "lognormal": lambda: rng.lognormal(0, 0.5, 120),
        "uniform": lambda: rng.random(60),
        "student": lambda: rng.standard_t(3, 200),
    }[kind]()
    shape = distribution_characteristics(x)
    assert shape.sd == pytest.approx(x.std(), abs=1e-12)
    assert shape.skewness == pytest.approx(stats.skew(x), abs=1e-8)
    assert shape.excess_kurtosis == pytest.approx(stats.kurtosis(x), abs=1e-8)
    theirs = stats.shapiro(x)
    assert present(shape.shapiro).statistic == pytest.approx(theirs.statistic, abs=1e-8)
    assert present(shape.shapiro).p == pytest.approx(theirs.pvalue, abs=1e-8)
    a2, p = normal_ad(x)
    assert present(shape.anderson).statistic == pytest.approx(a2, abs=1e-8)
    assert present(shape.anderson).p == pytest.approx(p, abs=1e-8)
    kurtosis = stats.kurtosistest(x, alternative="greater")
    assert present(shape.kurtosis_test).p == pytest.approx(kurtosis.pvalue, abs=1e-10)
    osm = stats.probplot(x, fit=False)[0]
    assert np.corrcoef([q for q, _ in shape.qq], osm)[0, 1] > 0.9999
    assert [v for _, v in shape.qq] == sorted(x)


def student_likelihood(x: FloatArray, df: float) -> float:
    """Log-likelihood of Student's t with location and scale at their best, by reweighting."""
    middle, square = float(np.median(x)), float(x.var())
    for _ in range(2000):
        pull = (df + 1) / (df + (x - middle) ** 2 / square)
        new = float(pull @ x / pull.sum())
        wide = float(pull @ (x - new) ** 2 / x.size)
        settled = abs(wide - square) <= 1e-13 * square
        middle, square = new, wide
        if settled:
            break
    constant = -math.log(df) / 2 - float(betaln(df / 2, 0.5)) - math.log(square) / 2
    tail = (df + 1) / 2 * np.log1p((x - middle) ** 2 / (df * square))
    return float(x.size * constant - tail.sum())


def test_student_fit_against_reweighting(rng: np.random.Generator) -> None:
    x = rng.standard_t(4, 400) * 0.2 + 1
    shape = distribution_characteristics(x)
    best = minimize_scalar(
        lambda g: -student_likelihood(x, 1.0 / g), bounds=(1e-4, 1.0), method="bounded"
    )
    ratio = 2 * (-best.fun - stats.norm.logpdf(x, *stats.norm.fit(x)).sum())
    assert shape.student_df == pytest.approx(1 / best.x, rel=0.01)
    assert present(shape.student_test).statistic == pytest.approx(ratio, abs=1e-3)
    assert present(shape.student_test).p == pytest.approx(stats.chi2.sf(ratio, 1) / 2, rel=0.01)
    light = distribution_characteristics(rng.random(200))
    assert (light.student_df, present(light.student_test).p) == (None, 1.0)


def test_tests_keep_their_level_and_detect_a_fat_tail() -> None:
    rng = np.random.default_rng(3)
    normal = [distribution_characteristics(rng.normal(size=60)) for _ in range(80)]
    for name in ("shapiro", "anderson", "kurtosis_test", "student_test"):
        share = np.mean([getattr(shape, name).p <= 0.05 for shape in normal])
        assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 80), name
    fat = distribution_characteristics(rng.standard_t(2, 200))
    assert present(fat.kurtosis_test).p < 0.001
    assert present(fat.student_test).p < 0.001


def test_hill_by_hand_and_on_a_pareto_tail(rng: np.random.Generator) -> None:
    # log excesses over x_(n-2) = 1: 1 and 2, mean 1.5.
    x = [0.1] * 7 + [1.0, math.e, math.e**2]
    shape = distribution_characteristics(x, hill_k=2)
    assert shape.hill == pytest.approx(1 / 1.5)
    assert shape.hill_se == pytest.approx(1 / 1.5 / math.sqrt(2))
    pareto = distribution_characteristics(1 + rng.pareto(3.0, 20_000), hill_k=2_000)
    assert pareto.hill == pytest.approx(3.0, abs=4 * present(pareto.hill_se))
    assert pareto.shapiro is None
    assert pareto.note == "no Shapiro-Wilk test beyond 5000 values"
    scaled = distribution_characteristics(10 * np.array(x), hill_k=2)
    assert scaled.hill == pytest.approx(shape.hill)


def test_weights_count_in_the_moments(rng: np.random.Generator) -> None:
    x = rng.random(12)
    twice = distribution_characteristics(np.concatenate([x, x[:3]]))
    weighted = distribution_characteristics(x, weights=[2] * 3 + [1] * 9)
    assert weighted.mean == pytest.approx(twice.mean)
    assert weighted.excess_kurtosis == pytest.approx(twice.excess_kurtosis)
    dropped = distribution_characteristics(x, weights=[0] * 3 + [1] * 9)
    assert dropped.shapiro == distribution_characteristics(x[3:]).shapiro
    missing = distribution_characteristics([np.nan, *x], weights=[5, *[1] * 12])
    assert missing.skewness == pytest.approx(distribution_characteristics(x).skewness)


def test_few_or_equal_values_get_a_sentence() -> None:
    few = distribution_characteristics([0.1, 0.2, 0.4])
    assert few.shapiro is None
    assert few.student_test is None
    assert present(few.note).startswith("3 values are too few for a test of shape")
    equal = distribution_characteristics([0.2] * 30)
    assert equal.note == "the 30 values do not differ: no shape to describe"
    assert {row["p"] for row in equal.table()} == {None}
    negative = distribution_characteristics(-np.arange(1.0, 30.0))
    assert negative.hill is None
    assert "no Hill estimate" in present(negative.note)
    assert distribution_characteristics(np.linspace(1, 2, 30)).note is None
    for shape in (few, equal, negative):
        json.dumps(shape.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ([], {}, "at least one number"),
        ([np.nan], {}, "at least one number"),
        ([np.inf, 1], {}, "infinity"),
        ([[1, 2]], {}, "shape"),
        ([1, 2], {"weights": [1]}, "expected 2 numbers"),
        ([1, 2, 3], {"hill_k": 3}, "fewer than the 3 values"),
        ([1, 2, 3], {"hill_k": 0}, "hill_k"),
    ],
)
def test_errors_are_clear(values: ArrayLike, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        distribution_characteristics(values, **settings)
