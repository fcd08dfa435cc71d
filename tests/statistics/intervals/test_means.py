"""The interval of a weighted mean, against Student's, Hall's definition and the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.intervals.means import interval_of_means, jackknife


def test_without_skewness_it_is_students(rng: np.random.Generator) -> None:
    half = rng.standard_normal(10)
    v = np.concatenate([half, -half])[:, None] + 3.0
    interval = interval_of_means(v, np.full((20, 1), 1 / 20))
    theirs = stats.ttest_1samp(v[:, 0], 0.0).confidence_interval(0.95)
    assert interval.low[0] == pytest.approx(theirs.low)
    assert interval.high[0] == pytest.approx(theirs.high)
    reach = theirs.high - interval.mean[0]
    assert interval.student_reach[0] == pytest.approx(reach)


def test_even_weights_have_halls_correction(rng: np.random.Generator) -> None:
    """The ends x at which z + g z²/3 + g² z³/27 + g/6, z = (mean - x)/se, is t either way (Hall
    1992), with g the skewness of the mean."""
    v = rng.gamma(3.0, size=80)
    interval = interval_of_means(v[:, None], np.full((80, 1), 1 / 80))
    n, t = 80, float(stats.t.ppf(0.975, 79))
    g = stats.skew(v) * (n - 1) ** 2 / (n * (n - 2)) / np.sqrt(n)
    for end, side in ((interval.low[0], t), (interval.high[0], -t)):
        z = (interval.mean[0] - end) / (v.std(ddof=1) / np.sqrt(n))
        assert z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6 == pytest.approx(
            side, abs=1e-9
        )


@pytest.mark.parametrize("heavy", [1.0, 12.0])
def test_a_skewed_mean_is_held_with_even_weights_and_with_a_heavy_one(
    heavy: float,
) -> None:
    """400 samples of 20 squares of normal numbers: 95 % less 4 standard errors of 1.1."""
    rng = np.random.default_rng(4)
    w = np.ones(20)
    w[0] = heavy
    held = 0
    for _ in range(400):
        v = rng.standard_normal((20, 1)) ** 2
        interval = interval_of_means(v, (w / w.sum())[:, None])
        held += interval.low[0] <= 1 <= interval.high[0]
    assert held / 400 >= 0.906


def test_a_unit_of_no_weight_is_not_there(rng: np.random.Generator) -> None:
    v = rng.gamma(2.0, size=(12, 3))
    w = rng.random((12, 3))
    w[8:] = 0.0
    w /= w.sum(axis=0)
    interval = interval_of_means(v, w)
    without = interval_of_means(v[:8], w[:8])
    for part in ("mean", "low", "high", "student_reach"):
        np.testing.assert_allclose(getattr(interval, part), getattr(without, part))


def test_the_jackknife_of_a_mean_is_its_interval(rng: np.random.Generator) -> None:
    v, w = rng.gamma(2.0, size=15), rng.random(15)
    w /= w.sum()
    mean = float(w @ v)
    without: FloatArray = (mean - w * v) / (1 - w)
    estimate = jackknife(mean, without, w)
    interval = interval_of_means(v[:, None], w[:, None])
    assert estimate.low == pytest.approx(interval.low[0])
    assert estimate.high == pytest.approx(interval.high[0])


def test_skewness_is_corrected_up_to_a_bound() -> None:
    """One 1 among n = 20 values: variance 0.05 · 0.95, skewness 0.9 / √0.0475 = 4.13 of the sample,
    4.13 · 19² / (20 · 18) = 4.14 of a unit, and 4.14 / √20 = 0.926 of the mean, taken as 0.9. The
    standard error is √(0.0475 / 19) = 0.05, and the upper arm 3 / 0.9 (1 - ∛(1 - 0.9 (t + 0.15)))
    times as long."""
    values = np.zeros((20, 1))
    values[0] = 1.0
    interval = interval_of_means(values, np.full((20, 1), 1 / 20))
    t = float(stats.t.ppf(0.975, 19))
    arm = 3 / 0.9 * (1 - np.cbrt(1 - 0.9 * (t + 0.15)))
    assert interval.high[0] == pytest.approx(0.05 + 0.05 * arm)


def test_half_of_the_variance_comes_from_where_the_weight_lies() -> None:
    """Values 0, 0, 0, 4 with weights 0.2, 0.2, 0.2, 0.4; the weighted mean is 1.6, sum w² = 0.28.

    All units alike: 4 is 3 above the plain mean 1, the sum of squares 12 / 3 degrees of freedom, so
    that the variance is 4 · 0.28 = 1.12. Where the weight lies: (3 · 0.04 · 1.6² + 0.16 · 2.4²) /
    (1 - 0.28) = (0.3072 + 0.9216) / 0.72 = 1.7067. Together (1.12 + 1.7067) / 2 = 1.4133."""
    values = np.array([[0.0], [0.0], [0.0], [4.0]])
    weights = np.array([[0.2], [0.2], [0.2], [0.4]])
    interval = interval_of_means(values, weights)
    t = float(stats.t.ppf(0.975, 3))
    variance = (1.12 + 1.2288 / 0.72) / 2
    assert interval.student_reach[0] == pytest.approx(t * np.sqrt(variance))


def test_light_units_that_lie_further_out_add_nothing() -> None:
    """Values 4, 0, 0, 0 with weights 0.1, 0.3, 0.3, 0.3: all units alike give 4 · 0.28 = 1.12; the
    weighted residuals give less, (0.01 · 3.6² + 3 · 0.09 · 0.4²) / 0.72 = 0.24."""
    values = np.array([[4.0], [0.0], [0.0], [0.0]])
    weights = np.array([[0.1], [0.3], [0.3], [0.3]])
    interval = interval_of_means(values, weights)
    t = float(stats.t.ppf(0.975, 3))
    assert interval.student_reach[0] == pytest.approx(t * np.sqrt(1.12))
