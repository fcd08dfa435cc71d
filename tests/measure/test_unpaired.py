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


def joined(one: Sequence[float], two: Sequence[float]) -> list[float]:
    """Difference and interval from two of (value, low, high)."""
    gap = one[0] - two[0]
    down, up = (
        math.hypot(one[0] - one[1], two[2] - two[0]),
        math.hypot(one[2] - one[0], two[0] - two[1]),
    )
    return [gap, gap - down, gap + up]


def test_the_intervals_of_both_audits_are_joined() -> None:
    a, b = asked("a", 60, 1, lean=0.1), asked("b", 25, 2)
    found = apart(a, b)
    reports = [
        estimate_risks(m.values, context_weights=m.context_weights) for m in (a, b)
    ]
    for row, name in zip(overall(found), MEASURES, strict=True):
        both = [getattr(report, name) for report in reports]
        ends = [(e.value, present(e.low), present(e.high)) for e in both]
        assert row == pytest.approx(joined(*ends), abs=1e-9)
    for x, group in enumerate(a.grid.groups):
        for measure in ("r", "r_bias", "r_volatility"):
            ends = [
                (getattr(r, measure)[x], *getattr(present(r.intervals), measure)[x])
                for r in reports
            ]
            if np.isnan(ends).any():  # contexts that agree
                continue
            (d,) = (
                d for d in found.by_group if (d.group, d.measure) == (group, measure)
            )
            row = np.array([present(v) for v in (d.value, d.low, d.high)])
            assert row == pytest.approx(joined(*ends), abs=1e-9)


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
    p = [
        0.5 + 0.5 * np.tanh(0.6 + 0.2 * rng.standard_normal((1, n))) for n in (900, 400)
    ]
    models = [
        labelled(pair(q), contexts=tuple(f"{i} {c}" for c in range(q.size)))
        for i, q in enumerate(p)
    ]
    (r,) = (d for d in apart(*models).overall if d.measure == "R")
    expected = stats.ttest_ind(*(np.abs(2 * q[0] - 1) for q in p), equal_var=False)
    assert r.p == pytest.approx(expected.pvalue, rel=0.05)
    mean = [float(np.abs(2 * q - 1).mean()) for q in p]
    assert r.value == pytest.approx(mean[0] - mean[1])


def test_shared_contexts_narrow_the_interval_and_the_same_answers_differ_by_nothing() -> (
    None
):
    a, b = asked("a", 60, 1), asked("b", 60, 1, lean=0.05, contexts="a")
    other = overall(apart(a, asked("b", 60, 1, lean=0.05)))
    together = overall(apart(a, b))
    assert ((together[:, 2] - together[:, 1]) < 0.7 * (other[:, 2] - other[:, 1])).all()
    paired = compare(a.values, b.values, context_weights=a.context_weights)
    width = present(paired.overall[0].high) - present(paired.overall[0].low)
    assert together[0, 2] - together[0, 1] == pytest.approx(width, rel=0.5)
    same = apart(a, a)
    assert {d.p for d in (*same.overall, *same.by_group)} == {1.0}
    assert {d.value for d in same.overall} == {0.0}


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
