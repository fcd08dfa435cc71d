from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure import stereotype
from clinometer.measure.stereotype import resolve_reference, scale

P = np.array([[[0.6, 0.4], [0.5, 0.5], [1.0, 0.0]], [[0.2, 0.8], [0.3, 0.7], [0.9, 0.1]]])


@pytest.mark.parametrize(
    ("reference", "cell", "expected"),
    [
        (None, (0, 0), [0.2, -0.2]),
        (None, (0, 2), [1.0, -1.0]),
        ([0.25, 0.75], (0, 0), [1.4, -7 / 15]),  # 0.6/0.25 - 1, 0.4/0.75 - 1
        ([[0.5, 0.5], [0.2, 0.8]], (0, 0), [0.2, -0.2]),  # one per group
        ([[0.5, 0.5], [0.2, 0.8]], (1, 0), [0, 0]),
    ],
)
def test_by_hand(reference: ArrayLike | None, cell: tuple[int, int], expected: list[float]) -> None:
    np.testing.assert_allclose(stereotype(P, reference)[cell], expected, atol=1e-15)


def test_shape_and_missing_cells_are_kept() -> None:
    np.testing.assert_array_equal(stereotype(P[0]), stereotype(P)[0])
    assert stereotype(P[0, 0]).shape == (2,)
    assert np.isnan(stereotype([[np.nan] * 2, [0.5, 0.5]])).tolist() == [[True] * 2, [False] * 2]
    p = np.clip(P, 0.1, 0.9)
    p /= p.sum(axis=-1, keepdims=True)
    assert (stereotype(p, p) == 0).all()  # one reference per cell


@pytest.mark.parametrize(
    ("reference", "shape"),
    [
        (None, (1, 1, 2)),
        ([0.5, 0.5], (1, 1, 2)),
        (np.full((2, 2), 0.5), (2, 1, 2)),
        (np.full((2, 3, 2), 0.5), (2, 3, 2)),
    ],
)
def test_resolved_shapes(reference: ArrayLike, shape: tuple[int, ...]) -> None:
    assert resolve_reference(reference, (2, 3, 2)).shape == shape


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ([1.0, 0.0], r"positive shares .* found \[1.0, 0.0\]"),
        ([1.0 - 1e-12, 1e-12], "at least 1e-09"),
        ([0.5, 0.6], "sum to one"),
        ([1.5, -0.5], "positive"),
        ([np.nan, 0.5], "positive"),
        ([np.inf, -np.inf], "positive"),
        ([0.2, 0.3, 0.5], r"expected shape \(2,\), \(2, 2\) or \(2, 3, 2\)"),
        (np.full((3, 2), 0.5), r"found \(3, 2\)"),
        ([[0.5, 0.5], [0.9, 0.2]], "for group 1"),
        ([[[0.5, 0.5]] * 3, [[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]]], "in group 1, context 2"),
    ],
)
def test_wrong_references_are_named(reference: ArrayLike, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        stereotype(P, reference)


def test_the_reference_of_missing_cells_is_ignored() -> None:
    reference = np.full((2, 3, 2), 0.5)
    reference[1, 2] = np.nan
    mask = np.ones((2, 3), dtype=bool)
    mask[1, 2] = False
    assert resolve_reference(reference, (2, 3, 2), mask).shape == (2, 3, 2)
    with pytest.raises(SettingsError, match="group 1, context 2"):
        resolve_reference(reference, (2, 3, 2), ~mask)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        *((np.full(K, 1 / K), K - 1) for K in (2, 3, 5, 7)),
        ([[0.1, 0.6, 0.3], [0.4, 0.4, 0.2]], [9, 4]),  # the rarest: 1/0.1 - 1, 1/0.2 - 1
    ],
)
def test_scale_by_hand(reference: ArrayLike, expected: ArrayLike) -> None:
    np.testing.assert_allclose(scale(reference), np.asarray(expected, dtype=float), rtol=1e-14)


@pytest.mark.parametrize("reference", [[1.0], 0.5, [0.0, 1.0], [np.nan, 0.5]])
def test_scale_refuses_invalid_references(reference: ArrayLike) -> None:
    with pytest.raises(SettingsError, match="reference"):
        scale(reference)


@pytest.mark.parametrize("p", [0.5, np.full((1, 1, 1, 2), 0.5), [1.0]])
def test_wrong_dimensions_are_refused(p: ArrayLike) -> None:
    with pytest.raises(SettingsError, match="p: expected"):
        stereotype(p)
