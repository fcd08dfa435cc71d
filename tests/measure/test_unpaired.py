"""Models asked in contexts of their own: intervals joined by hand, Welch, shared contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.preferences import labelled, pair
from tests.present import present

from clinometer.measure import (
    Comparison,
    Preferences,
    compare,
    estimate_risks,
)
from clinometer.measure.risks import MEASURES
from clinometer.measure.unpaired import compare_unpaired
from clinometer.statistics.arrays import FloatArray

LEANS = np.linspace(-0.6, 0.6, 8)


def asked(
    name: str,
    n: int,
    seed: int,
    *,
    lean: float = 0.0,
    contexts: str | None = None,
    size: float = 1.0,
) -> Preferences:
    """A model that leans by group, further by `lean`, in n contexts named after `contexts`."""
    rng = np.random.default_rng(seed)
    leans = size * LEANS + np.sign(LEANS) * lean
    s = np.tanh(leans + 0.3 * rng.standard_normal((n, LEANS.size))).T
    p = np.stack([1 + s, 1 - s], axis=-1) / 2
    weights = 1.0 / np.arange(1, n + 1) ** 0.5
    ids = tuple(f"{contexts or name} {c}" for c in range(n))
    fours = [f"{name} {c // 4}" for c in range(n)]
    return labelled(p, contexts=ids, context_weights=weights, labels={"four": fours})


def apart(*models: Preferences, **how: Any) -> Comparison:
    return compare_unpaired(models, names=[str(i) for i in range(len(models))], **how)


def overall(found: Comparison) -> FloatArray:
    return np.array(
        [[present(v) for v in (d.value, d.low, d.high)] for d in found.overall]
    )


def joined(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Return a - b with its interval, from value, low and high of both: a - b is as low as a is
    low and b high, and the two lengths are added like those of independent errors."""
    a_value, a_low, a_high = a
    b_value, b_low, b_high = b
    difference = a_value - b_value
    length_down = math.hypot(a_value - a_low, b_high - b_value)
    length_up = math.hypot(a_high - a_value, b_value - b_low)
    return [difference, difference - length_down, difference + length_up]


def test_intervals_of_both_audits_are_joined() -> None:
    a = asked("a", 60, 1, lean=0.1)
    b = asked("b", 25, 2)
    differences = overall(apart(a, b))
    a_report = estimate_risks(a.values, context_weights=a.context_weights)
    b_report = estimate_risks(b.values, context_weights=b.context_weights)
    for difference, measure in zip(differences, MEASURES, strict=True):
        a_estimate = getattr(a_report, measure)
        b_estimate = getattr(b_report, measure)
        expected = joined(value_and_ends(a_estimate), value_and_ends(b_estimate))
        assert difference == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("measure", ["r", "r_bias", "r_volatility"])
def test_intervals_of_each_group_are_joined(measure: str) -> None:
    a = asked("a", 60, 1, lean=0.1)
    b = asked("b", 25, 2)
    differences = {d.group: d for d in apart(a, b).by_group if d.measure == measure}
    a_rows = group_rows(a, measure)
    b_rows = group_rows(b, measure)
    compared_groups = 0
    for x, group in enumerate(a.grid.groups):
        if np.isnan([a_rows[x], b_rows[x]]).any():  # contexts that agree
            continue
        expected = joined(a_rows[x], b_rows[x])
        assert value_and_ends(differences[group]) == pytest.approx(expected, abs=1e-9)
        compared_groups += 1
    assert compared_groups


def value_and_ends(estimate: Any) -> list[float]:
    return [present(v) for v in (estimate.value, estimate.low, estimate.high)]


def group_rows(model: Preferences, measure: str) -> list[list[float]]:
    """Return value, low and high of a measure for each group of a model."""
    report = estimate_risks(model.values, context_weights=model.context_weights)
    values = getattr(report, measure)
    bounds = getattr(present(report.intervals), measure)
    return [[v, low, high] for v, (low, high) in zip(values, bounds, strict=True)]


def test_p_is_below_one_minus_level_exactly_when_the_interval_excludes_0() -> None:
    seen = set()
    for seed in range(6):
        a, b = asked("a", 40, seed, lean=0.06), asked("b", 40, 100 + seed)
        found = apart(a, b, level=0.9)
        for d in (*found.overall, *found.by_group):
            excluded = present(d.low) > 0 or present(d.high) < 0
            assert (present(d.p) < 0.1) == excluded
            seen.add(excluded)
    assert seen == {True, False}


def test_for_many_even_contexts_r_is_welchs_test() -> None:
    rng = np.random.default_rng(3)
    a_stereotypes = np.tanh(0.6 + 0.2 * rng.standard_normal((1, 900)))
    b_stereotypes = np.tanh(0.6 + 0.2 * rng.standard_normal((1, 400)))
    a = labelled(
        pair((1 + a_stereotypes) / 2), contexts=tuple(f"a {c}" for c in range(900))
    )
    b = labelled(
        pair((1 + b_stereotypes) / 2), contexts=tuple(f"b {c}" for c in range(400))
    )
    (R,) = (d for d in apart(a, b).overall if d.measure == "R")
    # One group: J of a context is the absolute stereotype.
    a_J = np.abs(a_stereotypes[0])
    b_J = np.abs(b_stereotypes[0])
    welch = stats.ttest_ind(a_J, b_J, equal_var=False)
    assert R.p == pytest.approx(welch.pvalue, rel=0.05)
    assert R.value == pytest.approx(float(a_J.mean() - b_J.mean()))


def test_shared_contexts_narrow_the_interval() -> None:
    a = asked("a", 60, 1)
    b = asked("b", 60, 1, lean=0.05, contexts="a")
    b_elsewhere = asked("b", 60, 1, lean=0.05)
    shared_widths = widths(apart(a, b))
    assert (shared_widths < 0.7 * widths(apart(a, b_elsewhere))).all()
    paired = compare(a.values, b.values, context_weights=a.context_weights)
    assert shared_widths[0] == pytest.approx(widths(paired)[0], rel=0.5)


def widths(comparison: Comparison) -> FloatArray:
    """Return how wide the intervals of R, bias and volatility are."""
    ends = [(present(d.low), present(d.high)) for d in comparison.overall]
    return np.array([high - low for low, high in ends])


def test_the_same_answers_differ_by_nothing() -> None:
    a = asked("a", 60, 1)
    comparison = apart(a, a)
    assert {d.p for d in (*comparison.overall, *comparison.by_group)} == {1.0}
    assert {d.value for d in comparison.overall} == {0.0}


def test_clusters_and_sizes_are_reported() -> None:
    a, b = asked("a", 40, 1), asked("b", 12, 2)
    found = apart(a, b)
    assert [one.contexts for one in found.own_contexts] == [40, 12]
    assert found.n_contexts == 52
    assert found.n_eff == pytest.approx(min(one.n_eff for one in found.own_contexts))
    assert found.n_clusters is None
    assert [r.rank for r in found.ranks if r.measure == "R"] in ([1, 2], [2, 1])
    assert apart(a, b, clusters="four").n_clusters == 10 + 3
    assert "own_contexts" in found.to_dict()


def test_a_model_without_an_interval_has_no_difference_to_show() -> None:
    found = apart(asked("a", 40, 1), asked("one", 1, 1))
    assert {(d.low, d.high, d.p) for d in found.overall} == {(None, None, None)}
    assert all(d.value is not None for d in found.overall)


def test_two_models_with_a_single_unit_each_have_no_p_value() -> None:
    found = apart(asked("a", 1, 1), asked("one", 1, 1))
    assert {(d.low, d.high, d.p) for d in found.overall} == {(None, None, None)}
