"""Comparison of models: hand values, scipy and statsmodels, invariants, errors in one line."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from tests.preferences import pair
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.measure import (
    compare,
    criterion,
    estimate_risks,
    read_preferences,
    stereotype,
)
from clinometer.measure.context_means import unit_means
from clinometer.measure.risks import COMPARED, MEASURES, RISKS
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.significance import flip_p_value, holm


def models(
    rng: np.random.Generator,
    M: int = 2,
    X: int = 4,
    C: int = 25,
    K: int = 2,
    a: float = 3.0,
) -> FloatArray:
    return rng.dirichlet(np.full(K, a), size=(M, X, C))


def flip_p(x: FloatArray, a: FloatArray) -> float:
    """The test from its definition: weights a, values x of each unit; `flip_p_value` is held
    against enumeration in tests/statistics/test_significance.py."""
    return float(flip_p_value((a / a.sum() * x)[None])[0])


def test_hand_value_of_a_difference() -> None:
    a = [[[0.9, 0.1], [0.7, 0.3], [0.8, 0.2], [0.8, 0.2], [0.6, 0.4]]]
    b = [[[0.5, 0.5], [0.4, 0.6], [0.6, 0.4], [0.5, 0.5], [0.5, 0.5]]]
    found = {d.measure: d.value for d in compare(a, b).overall}
    # s of the first category: A .8 .4 .6 .6 .2, mean .52 = R = R_bias; B 0 -.2 .2 0 0.
    assert found["R"] == pytest.approx(0.52 - 0.08)
    assert found["R_bias"] == pytest.approx(0.52)
    assert found["R_volatility"] == pytest.approx(-0.08)


@pytest.mark.parametrize("reference", [None, "group-mean"])
@pytest.mark.parametrize("criterion", ["ratio:1", "ratio:2", "ratio"])
@pytest.mark.parametrize("K", [2, 4])
def test_differences_are_those_of_reports(
    rng: np.random.Generator, K: int, criterion: str, reference: str | None
) -> None:
    """Of models that are compared with the mean of their groups, each with its own."""
    first, second = models(rng, K=K)
    settings: dict[str, Any] = {
        "context_weights": rng.random(25),
        "group_weights": rng.random(4),
        "criterion": criterion,
        "mask": rng.random((4, 25)) < 0.8,
        "reference": reference,
    }
    result = compare(first, second, **settings)
    first_report = estimate_risks(first, **settings)
    second_report = estimate_risks(second, **settings)
    first_grid = read_preferences(first, **settings)
    second_grid = read_preferences(second, **settings)
    for d in result.overall:
        if d.measure in MEASURES:
            first_value = first_report.summary[d.measure].value
            second_value = second_report.summary[d.measure].value
        else:
            first_value = unit_means(first_grid, [RISKS[d.measure]]).means[0]
            second_value = unit_means(second_grid, [RISKS[d.measure]]).means[0]
        assert d.value == pytest.approx(first_value - second_value, abs=1e-12)
    for d in result.by_group:
        x = int(present(d.group))
        first_value = getattr(first_report, d.measure)[x]
        second_value = getattr(second_report, d.measure)[x]
        assert d.value == pytest.approx(first_value - second_value, abs=1e-12)


def test_p_values_follow_their_definition(rng: np.random.Generator) -> None:
    p = models(rng, K=3)
    context_weights = rng.random(25)
    group_weights = rng.random(4)
    clusters = np.array([str(i) for i in rng.integers(0, 9, 25)])
    # J of every cell, as a share of the largest that there is with three categories: 2.
    first_J, second_J = (criterion(stereotype(part), np.inf) / 2 for part in p)
    differences = first_J - second_J
    of_contexts = group_weights / group_weights.sum() @ differences
    weights: dict[str, Any] = {
        "context_weights": context_weights,
        "group_weights": group_weights,
    }

    result = compare(*p, **weights)
    overall_p = flip_p(of_contexts, context_weights)
    assert result.overall[0].p == pytest.approx(overall_p, abs=1e-10)
    for x in range(4):
        group_p = flip_p(differences[x], context_weights)
        assert result.by_group[x].p == pytest.approx(group_p, abs=1e-10)

    clustered = compare(*p, **weights, clusters=clusters.tolist())
    names = np.unique(clusters)
    cluster_weights = []
    cluster_means = []
    for name in names:
        w = np.where(clusters == name, context_weights, 0.0)
        cluster_weights.append(w.sum())
        cluster_means.append(w @ of_contexts / w.sum())
    clustered_p = flip_p(np.array(cluster_means), np.array(cluster_weights))
    assert clustered.overall[0].p == pytest.approx(clustered_p, abs=1e-10)
    assert clustered.n_clusters == len(names)


def test_overall_is_corrected_for_pairs_and_groups_by_holm(
    rng: np.random.Generator,
) -> None:
    result = compare(*models(rng, M=3, X=5))
    for d in result.overall:
        assert d.p_corrected == min(1.0, 3 * present(d.p))
        assert (d.p_corrected > 0.05) == (present(d.low) <= 0 <= present(d.high))
    for start in range(0, 45, 15):
        family = result.by_group[start : start + 15]
        assert len({(d.a, d.b) for d in family}) == 1
        assert [d.p_corrected for d in family] == holm(
            [present(d.p) for d in family]
        ).tolist()


def test_interval_and_p_value_agree(rng: np.random.Generator) -> None:
    for i in range(20):
        result = compare(*models(rng, X=2, C=30), seed=i)
        for d in (*result.overall, *result.by_group):
            assert (present(d.p) > 0.05) == (present(d.low) <= 0 <= present(d.high))
            assert present(d.p_corrected) >= present(d.p)


def test_swapping_the_models_flips_the_sign(rng: np.random.Generator) -> None:
    p = models(rng)
    there, back = compare(*p), compare(*p[::-1])
    for d, e in zip(there.table(), back.table(), strict=True):
        # Sums over 25 contexts and 4 groups of numbers up to 1: at most 29 roundings of 1.1e-16;
        # a model's place in the array decides which of them are fused on some processors.
        assert d["value"] == pytest.approx(-e["value"], abs=1e-14)
        assert d["low"] == pytest.approx(-e["high"], abs=1e-9)
        assert d["p"] == pytest.approx(e["p"], abs=1e-9)


def test_permuting_categories_and_the_same_seed_change_nothing(
    rng: np.random.Generator,
) -> None:
    p = models(rng, K=4)
    a, b = (compare(*q, seed=3).overall[0].p for q in (p, p[..., [2, 0, 3, 1]]))
    assert a == pytest.approx(b, abs=1e-9)
    assert compare(*p, seed=3).to_dict() == compare(*list(p), seed=3).to_dict()


def test_identical_models_do_not_differ(rng: np.random.Generator) -> None:
    """Exactly, whatever a processor makes of the same sums at three places of an array."""
    p = models(rng, M=1)[0]
    result = compare(p, p, p)
    assert {(d.value, d.low, d.high, d.p) for d in result.overall} == {
        (0.0, None, None, 1.0)
    }
    assert {(rank.rank, rank.low, rank.high) for rank in result.ranks} == {(1, 1, 3)}
    many = compare(*[np.tile(p, (1, 2, 1))] * 2).overall[0]
    assert (many.value, many.low, many.high, many.p) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(("C", "low", "p"), [(9, None, 2.0**-8), (30, 1.0, 0.0)])
def test_steady_models_differ_by_the_number_of_their_contexts(
    C: int, low: float | None, p: float
) -> None:
    """Too few contexts that agree have no interval of width 0; 2^-29 is 0 to the tolerance."""
    one, half = np.tile([1.0, 0.0], (2, C, 1)), np.full((2, C, 2), 0.5)
    found = compare(one, half, names=["stereotyped", "unbiased"]).overall[1]
    assert found.p == pytest.approx(p, abs=1e-6)
    assert found.value == pytest.approx(1.0, abs=1e-14)
    assert (found.low, found.high) == (
        (None, None) if low is None else pytest.approx((1, 1))
    )


def test_ranks_by_hand() -> None:
    tiles = [np.tile([q, 1 - q], (2, 40, 1)) for q in (0.9, 0.5, 0.7, 0.7)]
    result = compare(*tiles, names=list("cabd"))
    ranks = {r.model: (r.rank, r.low, r.high) for r in result.ranks if r.measure == "R"}
    assert ranks == {"c": (4, 4, 4), "a": (1, 1, 1), "b": (2, 2, 3), "d": (2, 2, 3)}


def test_few_contexts_give_no_interval_and_one_gives_no_value(
    rng: np.random.Generator,
) -> None:
    few = compare(*models(rng, C=3)).overall[0]
    assert few.low is None
    assert present(few.p) > 0.05
    one = compare(*models(rng, C=1))
    assert all(
        d.p is None and d.low is None and d.p_corrected is None for d in one.overall
    )
    clustered = compare(*models(rng), clusters=["same"] * 25).overall[0]
    assert clustered.p is None
    json.dumps(one.to_dict(), allow_nan=False)


def test_missing_cells_of_any_model_are_left_out_of_all(
    rng: np.random.Generator,
) -> None:
    p = models(rng)
    mask = np.ones((2, 4, 25), dtype=bool)
    mask[0, 0, :3], mask[1, 2] = False, False
    p[~mask] = np.nan
    result = compare(*p, mask=mask.all(axis=0), groups=["a", "b", "c", "d"])
    assert result.missing_cells == 28
    gone = [d for d in result.by_group if d.group == "c"]
    assert {(d.value, d.p, d.p_corrected) for d in gone} == {(None, None, None)}
    assert all(d.p is not None for d in result.overall)
    json.dumps(result.to_dict(), allow_nan=False)


def test_a_group_that_may_lean_opposite_ways_is_left_open(
    rng: np.random.Generator,
) -> None:
    """Equal leans to opposite sides, 200 contexts that happen to move both models to one side."""
    moved, lean = 0.15 * rng.standard_normal(200), 0.01
    moved += 2 * lean - moved.mean()
    sides = (
        0.5 + (side * lean + moved + 0.02 * rng.standard_normal(200)) / 2
        for side in (1, -1)
    )
    found = compare(*(np.stack([p, 1 - p], axis=-1)[None] for p in sides))
    lean_of_group = next(d for d in found.by_group if d.measure == "r_bias")
    assert lean_of_group.value == pytest.approx(2 * lean, abs=0.003)
    assert present(lean_of_group.p) > 0.05
    assert present(lean_of_group.low) <= 0


def test_unequal_risks_are_detected_and_equal_ones_seldom() -> None:
    """A short `benchmarks/coverage.py --part compare`: 100 pairs of models, and one differing."""
    rng = np.random.default_rng(5)
    hits = np.zeros(len(COMPARED))
    for i in range(100):
        first = rng.beta(6, 4, (2, 3, 50))
        result = compare(*pair(first), seed=i)
        hits += [present(d.p) <= 0.05 for d in result.overall]
    assert (hits <= 0.05 * 100 + 3 * math.sqrt(100 * 0.05 * 0.95)).all()
    far = np.stack([rng.beta(8, 2, (3, 50)), rng.beta(6, 4, (3, 50))])
    assert present(compare(*pair(far)).overall[1].p) < 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": np.full((1, 2, 3, 2), 0.5)}, "at least two models"),
        ({"p": [np.full((2, 3, 2), 0.5), np.full((2, 4, 2), 0.5)]}, "align the runs"),
        ({"level": 1.0}, "level"),
        ({"seed": -1}, "seed"),
        ({"clusters": ["a"]}, "one a context"),
        ({"names": ["a", "a"]}, "distinct"),
        (
            {"mask": np.ones((2, 2, 3), dtype=bool)},
            "one value for each group and context",
        ),
        ({"mask": np.zeros((2, 3), dtype=bool)}, "nothing to average"),
        ({"context_weights": [0, 0, 0]}, "positive sum"),
    ],
)
def test_errors_are_one_line(change: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"p": np.full((2, 2, 3, 2), 0.5), **change}
    with pytest.raises(SettingsError, match=message) as caught:
        compare(*settings.pop("p"), **settings)
    assert "\n" not in str(caught.value)
