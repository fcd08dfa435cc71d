from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import wasserstein_distance

from clinometer.errors import SettingsError
from clinometer.measure import criterion, decompose, reference_risks
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import read_preferences
from clinometer.statistics.arrays import FloatArray

STEREOTYPES = arrays(np.float64, 4, elements=st.floats(-1, 5))
NORMS = st.one_of(st.just(np.inf), st.floats(1, 60), st.sampled_from([1, 2, 3]))


def test_large_norms_neither_overflow_nor_underflow() -> None:
    assert criterion([[1e8, 1e8], [1e-9, 0.0]], 1e6).tolist() == pytest.approx(
        [1e8, 1e-9], rel=1e-5
    )


@pytest.mark.parametrize("norm", [1, 1.7, 2, 33, np.inf])
def test_a_single_component_is_returned_exactly(norm: float) -> None:
    assert float(criterion([0.1, -1.0, 0.0], norm)) == 0.1


def test_missing_stays_missing() -> None:
    for norm in (1, 2, np.inf):
        assert np.isnan(criterion([np.nan, 0.5], norm))


@pytest.mark.parametrize("norm", [0, 0.99, -1, -np.inf, np.nan, "2", None, True, 2j])
def test_wrong_norms_are_refused(norm: float) -> None:
    with pytest.raises(SettingsError, match=r"^norm: "):
        criterion([0.1, 0.2], norm)


def test_a_criterion_needs_categories() -> None:
    with pytest.raises(SettingsError, match="last axis"):
        criterion(0.5)
    with pytest.raises(SettingsError, match="last axis"):
        criterion(np.empty((2, 0)))


@given(STEREOTYPES, NORMS)
def test_agrees_with_numpy(s: FloatArray, norm: float) -> None:
    s = np.where(np.abs(s) < 1e-3, 0.0, s)  # numpy's own powers vanish below that
    expected = np.linalg.norm(np.maximum(s, 0), ord=norm)
    assert float(criterion(s, norm)) == pytest.approx(expected, rel=1e-12)


@given(STEREOTYPES, STEREOTYPES, NORMS, st.floats(0, 1))
def test_is_convex_and_homogeneous(
    a: FloatArray, b: FloatArray, norm: float, t: float
) -> None:
    mixed = float(criterion(t * a + (1 - t) * b, norm))
    apart = t * float(criterion(a, norm)) + (1 - t) * float(criterion(b, norm))
    assert mixed <= apart + 1e-12
    assert float(criterion(3 * a, norm)) == pytest.approx(
        3 * float(criterion(a, norm)), abs=1e-12
    )


EVERY = [
    *(Criterion(norm=k) for k in (1, 1.5, 2, 3, np.inf)),
    Criterion("share"),
    Criterion("released"),
    Criterion("points", points=(1, 2, 4, 8)),
]


@pytest.mark.parametrize("j", EVERY, ids=str)
def test_slope_matches_finite_differences(
    j: Criterion, rng: np.random.Generator
) -> None:
    m = rng.normal(size=(6, 4))
    for unit in (*np.eye(4), rng.normal(size=(6, 4))):
        numeric = (j(m + 1e-6 * unit) - j(m - 1e-6 * unit)) / 2e-6
        np.testing.assert_allclose(j.slope(m, unit), numeric, atol=1e-5)
    np.testing.assert_allclose(
        j.slope(m, m), j(m), atol=1e-12
    )  # Euler: J is homogeneous


@given(st.integers(0, 10_000))
def test_shares_and_points_are_known_distances(seed: int) -> None:
    """Total variation and scipy's Wasserstein distance of two distributions."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 7))
    p, star = rng.dirichlet(np.ones(K), 2)
    points = tuple(np.cumsum(rng.uniform(0.5, 3, K)).tolist())
    share, scale = Criterion("share"), Criterion("points", points=points)
    assert share(share.stereotypes(p, star)) == pytest.approx(
        np.abs(p - star).sum() / 2
    )
    distance = wasserstein_distance(points, points, p, star) / (points[-1] - points[0])
    assert scale(scale.stereotypes(p, star)) == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize("K", [2, 5, 7])
def test_released_is_the_function_of_the_authors_code(
    K: int, rng: np.random.Generator
) -> None:
    """Each category against the mean of the others, the positive ones added up, divided by 5."""
    p = rng.dirichlet(np.full(K, 0.5), size=(3, 20))

    def risk(q: FloatArray) -> float:
        against = [q[y] - np.delete(q, y).mean() for y in range(K)]
        return float(sum(max(a, 0.0) for a in against) / 5)

    found = decompose(p, criterion="released")
    assert found.R.value == pytest.approx(np.mean([[risk(q) for q in x] for x in p]))
    assert found.R_bias.value == pytest.approx(
        np.mean([risk(x.mean(axis=0)) for x in p])
    )
    assert (
        reference_risks("stereotyped", categories=K, criterion=Criterion("released")).R
        == 0.2
    )
    assert Criterion("released").top == 0.2


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ({}, "ratio"),
        ({"reference": [1 / 3] * 3}, "ratio"),
        ({"reference": "group-mean"}, "share"),
        ({"reference": [0.5, 0.3, 0.2]}, "share"),
        ({"criterion": "points", "categories": ["1", "2", "3"]}, "points"),
    ],
)
def test_the_criterion_fits_the_question(how: dict[str, Any], name: str) -> None:
    assert read_preferences(np.full((2, 3, 3), 1 / 3), **how).criterion.name == name


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"criterion": "cosine"}, "criterion: .*released.*found 'cosine'"),
        ({"criterion": "share:2"}, "expected a norm .*found 'share:2'"),
        (
            {"criterion": "released", "reference": [0.5, 0.3, 0.2]},
            "released is measured from an",
        ),
        ({"criterion": "points"}, "categories to be numbers in rising order"),
        (
            {"criterion": Criterion("points", points=(1, 2))},
            "points: expected 3 numbers, found 2",
        ),
    ],
)
def test_criteria_that_do_not_fit_are_refused(
    how: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        read_preferences(np.full((2, 3, 3), 1 / 3), categories=["a", "b", "c"], **how)


def test_norms_belong_to_ratio_and_points_rise() -> None:
    for name in ("share", "released"):
        with pytest.raises(
            SettingsError, match="norm and raw equations belong to ratio"
        ):
            Criterion(name, norm=2)
    with pytest.raises(SettingsError, match="in rising order"):
        Criterion("points", points=(3, 2, 1))


def test_a_rare_category_cannot_hide_a_difference() -> None:
    """90 against 30 % yes is R 0.30, with or without a third answer that hardly occurs."""
    two = [[[0.9, 0.1]], [[0.3, 0.7]]]
    three = [[[0.9, 0.0999, 0.0001]], [[0.3, 0.6999, 0.0001]]]
    for p in (two, three):
        assert decompose(p, reference="group-mean").R.value == pytest.approx(0.3)
    ratio = decompose(three, reference="group-mean", criterion="ratio")
    assert ratio.R.value < 0.0005  # the paper's, by name
