"""Next to the mean of the groups: 0 is every group alike, 1 an even split of certain answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import compare, decompose, reference_risks
from clinometer.measure.bounds import risk_bounds
from clinometer.measure.grid import read_preferences
from clinometer.measure.group_mean import group_mean, impact_ratios
from clinometer.measure.intervals import estimate_risks
from clinometer.measure.reference_models import (
    ReferenceName,
    random_outcomes,
    reference_preferences,
)


def slow(p: np.ndarray, w: np.ndarray, v: np.ndarray, *, share: bool) -> tuple[float, float]:
    """R and R^b by loops from the equations; w of contexts, v of groups, both summing to one."""

    def worst(s: list[float]) -> float:
        return sum(abs(one) for one in s) / 2 if share else max(0.0, *s)

    X, C, K = p.shape
    R = R_bias = 0.0
    for x in range(X):
        mean, r = [0.0] * K, 0.0
        for c in range(C):
            star = [sum(v[i] * p[i, c, y] for i in range(X)) for y in range(K)]
            size = max(1 / one - 1 for one in star)
            s = [(p[x, c, y] / star[y] - 1) / size for y in range(K)]
            if share:
                s = [p[x, c, y] - star[y] for y in range(K)]
            r += w[c] * worst(s)
            mean = [m + w[c] * one for m, one in zip(mean, s, strict=True)]
        R += v[x] * r
        R_bias += v[x] * worst(mean)
    return R, R_bias


@pytest.mark.parametrize("criterion", ["ratio", "share"])
@pytest.mark.parametrize("K", [2, 3, 5])
def test_risks_are_those_of_plain_loops(K: int, criterion: str) -> None:
    rng = np.random.default_rng(K)
    p = rng.dirichlet(np.ones(K), (4, 7))
    w, v = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(4))
    found = decompose(
        p, context_weights=w, group_weights=v, reference="group-mean", criterion=criterion
    )
    expected = slow(p, w, v, share=criterion == "share")
    assert (found.R.value, found.R_bias.value) == pytest.approx(expected, abs=1e-12)


def test_all_groups_alike_is_zero_for_any_answer() -> None:
    rng = np.random.default_rng(0)
    p = np.repeat(rng.dirichlet(np.ones(3), (1, 9)), 5, axis=0)
    assert decompose(p, reference="group-mean").R.value == 0
    certain = np.tile(np.array([1.0, 0.0]), (5, 9, 1))
    assert decompose(certain, reference="group-mean").R.value == 0


@pytest.mark.parametrize("name", ["unbiased", "stereotyped", "random"])
@pytest.mark.parametrize("K", [2, 3])
def test_reference_models_reach_the_ends_of_the_scale(name: ReferenceName, K: int) -> None:
    shape = (6 * K, 5, K)
    if name == "random":
        found = decompose(
            **random_outcomes(shape, reference="group-mean")._asdict(), criterion="ratio"
        )
    else:
        p = reference_preferences(name, shape, reference="group-mean")
        found = decompose(p, reference="group-mean", criterion="ratio")
    expected = reference_risks(name, categories=K)
    assert (found.R.value, found.R_bias.value, found.R_volatility.value) == pytest.approx(expected)


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
    assert decompose(p, reference="group-mean", criterion="ratio").R.value == pytest.approx(0.5)
    # One in three answers differs from the others': 2/3 + 1/3 + 1/3 would have to change.
    assert decompose(p, reference="group-mean").R.value == pytest.approx(4 / 9)


def test_missing_cells_take_no_part_in_the_mean() -> None:
    values = np.array([[[0.8, 0.2]], [[0.4, 0.6]], [[np.nan, np.nan]]])
    mask = np.array([[True], [True], [False]])
    star = group_mean(values, np.array([0.25, 0.25, 0.5]), mask)
    assert star[:, 0] == pytest.approx(np.tile([0.6, 0.4], (3, 1)))
    alone = group_mean(values, np.array([0.25, 0.25, 0.5]), np.zeros((3, 1), dtype=bool))
    assert alone == pytest.approx(0.5)


def test_bounds_hold_for_every_way_of_sharing_out_other() -> None:
    rng = np.random.default_rng(3)
    covered = rng.uniform(0.5, 1.0, (3, 4, 1))
    p = rng.dirichlet(np.ones(3), (3, 4))
    low = covered * p
    high = low + 1 - covered
    bounds = risk_bounds(read_preferences(p, reference="group-mean"), low, high)
    for _ in range(300):
        shares = rng.dirichlet(np.full(3, 0.3), (3, 4))
        found = decompose(low + (1 - covered) * shares, reference="group-mean")
        for name in ("R", "R_bias", "R_volatility"):
            least, most = getattr(bounds, name)
            assert least - 1e-12 <= getattr(found, name).value <= most + 1e-12


def test_exact_preferences_have_no_width() -> None:
    p = np.random.default_rng(4).dirichlet(np.ones(2), (3, 4))
    found = decompose(p, reference="group-mean")
    bounds = risk_bounds(read_preferences(p, reference="group-mean"), p, p)
    assert pytest.approx((found.R.value, found.R.value)) == bounds.R
    assert bounds.R_bias == pytest.approx((found.R_bias.value, found.R_bias.value))


def test_intervals_and_comparisons_take_each_models_own_mean() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.dirichlet(np.ones(2) * 4, (2, 4, 40))
    report = estimate_risks(a, reference="group-mean", correct=False)
    assert report.R.low is not None
    assert report.R.low <= report.R.value
    both = compare(a, b, names=["a", "b"], reference="group-mean")
    difference = next(d for d in both.overall if d.measure == "R")
    alone = [decompose(p, reference="group-mean").R.value for p in (a, b)]
    assert difference.value == pytest.approx(alone[0] - alone[1])


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(SettingsError, match="group-mean"):
        decompose([[0.5, 0.5]], reference="groups")


def test_impact_ratios() -> None:
    assert impact_ratios(np.array([0.2, 0.5])).tolist() == [0.4, 1.0]
    assert np.isnan(impact_ratios(np.zeros(3))).all()
    assert np.isnan(impact_ratios(np.full(3, np.nan))).all()
