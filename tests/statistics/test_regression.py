"""Regression of risks on factors against the normal equations, by hand, and degenerate input."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests
from tests.present import present

from clinometer.display.text import to_plain
from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.regression import regress, regress_each


def sample(
    rng: np.random.Generator, n: int = 40
) -> tuple[FloatArray, dict[str, FloatArray], FloatArray]:
    factors = {
        "salary": rng.normal(60, 20, n),
        "women": rng.random(n),
        "years": rng.normal(14, 2, n),
    }
    factors["years"] += factors["salary"] / 20
    y = 0.3 + 0.002 * factors["salary"] - 0.1 * factors["women"] + rng.normal(0, 0.1, n)
    return y, factors, rng.gamma(1.0, 500.0, n)


def test_hand_value() -> None:
    # x 0..3, y 1 2 2 4: slope 4.5/5, residuals 0.1 0.2 -0.7 0.4, leverages 0.7 0.3 0.3 0.7;
    # HC3: the sum of ((x - 1.5) e / (1 - h))², over 5².
    fit = regress([1, 2, 2, 4], {"x": [0, 1, 2, 3]})
    assert fit["x"].value == pytest.approx(0.9)
    assert fit["intercept"].value == pytest.approx(0.9)
    parts = (-1.5 * 0.1 / 0.3, -0.5 * 0.2 / 0.7, 0.5 * -0.7 / 0.7, 1.5 * 0.4 / 0.3)
    assert fit["x"].se == pytest.approx(np.linalg.norm(parts) / 5)
    assert fit.r_squared == pytest.approx(1 - 0.7 / 4.75)
    assert fit.n == 4


@pytest.mark.parametrize("weighted", [True, False])
def test_against_statsmodels(rng: np.random.Generator, weighted: bool) -> None:
    y, factors, w = sample(rng)
    fit = regress(y, factors, weights=w if weighted else None)
    design = sm.add_constant(np.column_stack(list(factors.values())))
    theirs = sm.WLS(y, design, weights=w if weighted else 1.0).fit(
        cov_type="HC3", use_t=True
    )
    wanted = [theirs.params, theirs.bse, theirs.pvalues, *theirs.conf_int().T]
    for field, values in zip(("value", "se", "p", "low", "high"), wanted, strict=True):
        ours = [getattr(c, field) for c in fit.coefficients]
        np.testing.assert_allclose(ours, values, rtol=1e-8, atol=1e-8)
    assert fit.r_squared == pytest.approx(theirs.rsquared, abs=1e-8)


def test_scaling_weights_or_a_factor_leaves_the_tests_unchanged(
    rng: np.random.Generator,
) -> None:
    y, factors, w = sample(rng)
    a = regress(y, factors, weights=w)
    b = regress(y, {**factors, "salary": factors["salary"] * 1000}, weights=w * 7)
    assert a["salary"].value == pytest.approx(1000 * b["salary"].value)
    assert a["salary"].p == pytest.approx(b["salary"].p, abs=1e-10)
    assert a["women"].se == pytest.approx(b["women"].se, abs=1e-12)


def test_rows_without_a_factor_are_left_out(rng: np.random.Generator) -> None:
    y, factors, w = sample(rng)
    factors["women"][3] = np.nan
    y[5], w[7], w[9] = np.nan, np.nan, 0.0
    fit = regress(y, factors, weights=w)
    assert fit.n == 36
    kept = [i for i in range(40) if i not in (3, 5, 7, 9)]
    again = regress(y[kept], {k: v[kept] for k, v in factors.items()}, weights=w[kept])
    assert again["salary"].p == pytest.approx(fit["salary"].p, abs=1e-12)
    json.dumps(to_plain(fit), allow_nan=False)


def test_measurement_error_against_statsmodels(rng: np.random.Generator) -> None:
    """The intercept is the random-effects mean of Paule and Mandel; the slope WLS with tau²."""
    n = 25
    se = rng.uniform(0.02, 0.2, n)
    y = 0.4 + rng.normal(0, 0.1, n) + rng.normal(0, se)
    x = rng.normal(size=n)
    fit = regress(y, {"x": x}, y_se=se)
    design = sm.add_constant(x)

    def left(tau2: float) -> float:
        residuals = sm.WLS(y, design, weights=1 / (tau2 + se**2)).fit().wresid
        return float(np.sum(residuals**2)) - (n - 2)

    tau2 = present(fit.tau2)
    assert left(tau2) == pytest.approx(0, abs=1e-8)
    expected = sm.WLS(y, design, weights=1 / (tau2 + se**2)).fit(
        cov_type="HC3", use_t=True
    )
    np.testing.assert_allclose(
        [c.value for c in fit.coefficients], expected.params, atol=1e-10
    )
    np.testing.assert_allclose(
        [c.se for c in fit.coefficients], expected.bse, atol=1e-10
    )
    assert regress(y / 1000, {"x": x}, y_se=se).tau2 == 0


def test_no_measurement_error_is_the_plain_fit(rng: np.random.Generator) -> None:
    y, factors, w = sample(rng)
    a = regress(y, factors, weights=w)
    b = regress(y, factors, weights=w, y_se=np.zeros(40))
    assert a["salary"].p == pytest.approx(b["salary"].p, abs=1e-8)


def test_each_factor_alone_with_holm(rng: np.random.Generator) -> None:
    y, factors, w = sample(rng)
    factors["years"][:5] = np.nan
    fits = regress_each(y, factors, weights=w)
    p = [fits[name][name].p for name in factors]
    wanted = multipletests(p, method="holm")[1]
    np.testing.assert_allclose(
        [present(fits[name][name].p_holm) for name in factors], wanted, atol=1e-12
    )
    assert [fits[name].n for name in factors] == [40, 40, 35]
    alone = regress(y, {"women": factors["women"]}, weights=w)
    assert fits["women"]["women"].p == alone["women"].p


def test_a_perfect_fit_has_no_p_and_a_constant_y_no_r_squared() -> None:
    x = np.arange(6.0)
    exact = regress(2 * x + 1, {"x": x})
    assert exact["x"].value == pytest.approx(2)
    assert exact["x"].p is None
    flat = regress(np.full(6, 0.5), {"x": x})
    assert flat.r_squared is None
    json.dumps([to_plain(exact), to_plain(flat)], allow_nan=False)


@pytest.mark.parametrize(
    ("factors", "settings", "message"),
    [
        ({"a": [3, 3, 3, 3, 3]}, {}, "a: expected a factor that varies, found 3"),
        ({"a": [0, 0, 0, 0, 0]}, {}, "a: expected a factor that varies"),
        ({"a": [1, 2, 3, 4, 5], "b": [2, 4, 6, 8, 10]}, {}, "a, b collinear"),
        ({"a": [1, 2, np.nan, np.nan, np.nan]}, {}, "more than 2 complete rows"),
        ({"a": [np.nan] * 5}, {}, "found 0"),
        ({"a": [1, 2, 3, 4, 5]}, {"weights": [0] * 5}, "only zeros"),
        ({"a": [1, 2, 3, 4, 5]}, {"weights": [-1, 1, 1, 1, 1]}, "negative"),
        ({"a": [1, 2, 3]}, {}, "5 numbers, one per row"),
        ({"a": [0, 0, 0, 0, 1]}, {}, "leverage 1"),
        ({"a": [1, 2, 3, 4, 5]}, {"level": 95}, "level"),
        ({"a": [1, 2, 3, 4, np.inf]}, {}, "infinity"),
        ({}, {}, "one at least"),
    ],
)
def test_degenerate_input_is_one_line(
    factors: dict[str, list[float]], settings: dict[str, Any], message: str
) -> None:
    y = [0.1, 0.5, 0.2, 0.4, 0.9]
    with pytest.raises(SettingsError, match=message) as caught:
        regress(y, factors, **settings)
    assert "\n" not in str(caught.value)
