from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure import decompose, reference_risks, stereotype
from clinometer.measure.reference_models import (
    ReferenceName,
    random_outcomes,
    reference_preferences,
)
from clinometer.measure.stereotype import group_mean, scale

P = np.array(
    [[[0.6, 0.4], [0.5, 0.5], [1.0, 0.0]], [[0.2, 0.8], [0.3, 0.7], [0.9, 0.1]]]
)


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
def test_by_hand(
    reference: ArrayLike | None, cell: tuple[int, int], expected: list[float]
) -> None:
    np.testing.assert_allclose(stereotype(P, reference)[cell], expected, atol=1e-15)


def test_shape_and_missing_cells_are_kept() -> None:
    np.testing.assert_array_equal(stereotype(P[0]), stereotype(P)[0])
    assert stereotype(P[0, 0]).shape == (2,)
    assert np.isnan(stereotype([[np.nan] * 2, [0.5, 0.5]])).tolist() == [
        [True] * 2,
        [False] * 2,
    ]
    p = np.clip(P, 0.1, 0.9)
    p /= p.sum(axis=-1, keepdims=True)
    assert (stereotype(p, p) == 0).all()  # one reference per cell


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
        (
            [[[0.5, 0.5]] * 3, [[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]]],
            "in group 1, context 2",
        ),
    ],
)
def test_wrong_references_are_named(reference: ArrayLike, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        stereotype(P, reference)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        *((np.full(K, 1 / K), K - 1) for K in (2, 3, 5, 7)),
        (
            [[0.1, 0.6, 0.3], [0.4, 0.4, 0.2]],
            [9, 4],
        ),  # the rarest: 1/0.1 - 1, 1/0.2 - 1
    ],
)
def test_scale_by_hand(reference: ArrayLike, expected: ArrayLike) -> None:
    np.testing.assert_allclose(
        scale(reference), np.asarray(expected, dtype=float), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (lambda r=r: scale(r), "reference")
            for r in ([1.0], 0.5, [0.0, 1.0], [np.nan, 0.5])
        ),
        *(
            (lambda d=d: stereotype(np.full(d, 0.5)), "p: expected")
            for d in ((), (1, 1, 1, 2), 1)
        ),
        (lambda: decompose([[0.5, 0.5]], reference="groups"), "group-mean"),
    ],
)
def test_wrong_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()


@pytest.mark.parametrize("name", ["unbiased", "stereotyped", "random"])
@pytest.mark.parametrize("K", [2, 3])
def test_reference_models_reach_the_ends_of_the_scale(
    name: ReferenceName, K: int
) -> None:
    shape = (6 * K, 5, K)
    if name == "random":
        found = decompose(
            **random_outcomes(shape, reference="group-mean")._asdict(),
            criterion="ratio",
        )
    else:
        p = reference_preferences(name, shape, reference="group-mean")
        found = decompose(p, reference="group-mean", criterion="ratio")
    expected = reference_risks(name, categories=K)
    assert (
        found.R.value,
        found.R_bias.value,
        found.R_volatility.value,
    ) == pytest.approx(expected)


def test_no_model_is_above_one() -> None:
    """One is reached by certain answers, evenly split, and by nothing else: all vertices of four
    groups and two categories, and many points inside."""
    for answers in itertools.product([0, 1], repeat=4):
        p = np.eye(2)[np.array(answers)][:, None]
        risk = decompose(p, reference="group-mean", criterion="ratio").R.value
        assert (risk > 1 - 1e-9) == (sum(answers) == 2)
        assert risk <= 1
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = rng.dirichlet(np.full(2, 0.2), (4, 1))
        assert decompose(p, reference="group-mean", criterion="ratio").R.value <= 1


def test_three_groups_cannot_be_split_evenly_in_two() -> None:
    # One group always yes, two always no: p* = (1/3, 2/3), scale 2. The first has s = 2, the
    # others 1.5 - 1 = 0.5, so R = (1 + 0.25 + 0.25) / 3.
    p = np.eye(2)[np.array([0, 1, 1])][:, None]
    assert decompose(
        p, reference="group-mean", criterion="ratio"
    ).R.value == pytest.approx(0.5)
    # One in three answers differs from the others': 2/3 + 1/3 + 1/3 would have to change.
    assert decompose(p, reference="group-mean").R.value == pytest.approx(4 / 9)


def test_missing_cells_take_no_part_in_the_mean() -> None:
    values = np.array([[[0.8, 0.2]], [[0.4, 0.6]], [[np.nan, np.nan]]])
    mask = np.array([[True], [True], [False]])
    star = group_mean(values, np.array([0.25, 0.25, 0.5]), mask)
    assert star[:, 0] == pytest.approx(np.tile([0.6, 0.4], (3, 1)))
    alone = group_mean(
        values, np.array([0.25, 0.25, 0.5]), np.zeros((3, 1), dtype=bool)
    )
    assert alone == pytest.approx(0.5)
