from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clinometer.errors import SettingsError
from clinometer.measure import criterion
from clinometer.measure.criterion import slope
from clinometer.statistics.arrays import FloatArray

STEREOTYPES = arrays(np.float64, 4, elements=st.floats(-1, 5))
NORMS = st.one_of(st.just(np.inf), st.floats(1, 60), st.sampled_from([1, 2, 3]))


@pytest.mark.parametrize(
    ("norm", "expected"), [(1, 7.0), (2, 5.0), (3, 91 ** (1 / 3)), (np.inf, 4.0)]
)
def test_norms_of_the_positive_part_by_hand(norm: float, expected: float) -> None:
    # Positive parts 3 and 4; absolute values would also count the 9.
    assert float(criterion([3.0, -9.0, 4.0], norm)) == pytest.approx(expected, rel=1e-15)


def test_nothing_positive_is_zero() -> None:
    assert criterion(np.full((2, 3), -0.5), 2).tolist() == [0.0, 0.0]


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
    with pytest.raises(SettingsError, match="norm: expected a number from 1 to inf"):
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


@given(STEREOTYPES, st.lists(NORMS, min_size=2, max_size=4))
def test_does_not_grow_with_the_norm(s: FloatArray, norms: list[float]) -> None:
    values = [float(criterion(s, k)) for k in sorted(norms)]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(values))


@given(STEREOTYPES, STEREOTYPES, NORMS, st.floats(0, 1))
def test_is_convex_and_homogeneous(a: FloatArray, b: FloatArray, norm: float, t: float) -> None:
    mixed = float(criterion(t * a + (1 - t) * b, norm))
    apart = t * float(criterion(a, norm)) + (1 - t) * float(criterion(b, norm))
    assert mixed <= apart + 1e-12
    assert float(criterion(3 * a, norm)) == pytest.approx(3 * float(criterion(a, norm)), abs=1e-12)


def test_slope_matches_finite_differences(rng: np.random.Generator) -> None:
    m = rng.normal(size=(6, 4))
    for norm in (1.5, 2.0, 3.0, np.inf):
        for y in range(4):
            unit = np.eye(4)[y]
            numeric = (criterion(m + 1e-6 * unit, norm) - criterion(m - 1e-6 * unit, norm)) / 2e-6
            np.testing.assert_allclose(slope(m, unit, norm), numeric, atol=1e-5)
        np.testing.assert_allclose(slope(m, m, norm), criterion(m, norm), atol=1e-12)
