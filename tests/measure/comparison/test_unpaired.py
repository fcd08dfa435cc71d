"""Models in contexts of their own: the intervals of both audits, joined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.present import present

from clinometer.measure import bootstrap, compare, read_preferences
from clinometer.measure.comparison.result import Comparison
from clinometer.measure.comparison.unpaired import OwnContexts, compare_unpaired
from clinometer.statistics.arrays import FloatArray

LEANS = np.linspace(-0.6, 0.6, 8)


def asked(
    name: str, n: int, seed: int, *, lean: float = 0.0, contexts: str | None = None
) -> OwnContexts:
    """A model that leans by group, further by `lean`, in n contexts named after `contexts`."""
    rng = np.random.default_rng(seed)
    s = np.tanh(LEANS + np.sign(LEANS) * lean + 0.3 * rng.standard_normal((n, LEANS.size))).T
    p = np.stack([1 + s, 1 - s], axis=-1) / 2
    weights = 1.0 / np.arange(1, n + 1) ** 0.5
    grid = read_preferences(p, context_weights=weights)
    return OwnContexts(name, grid, [f"{contexts or name} {c}" for c in range(n)])


def overall(found: Comparison) -> FloatArray:
    return np.array([[present(v) for v in (d.corrected, d.low, d.high)] for d in found.overall])


def test_the_intervals_of_both_audits_are_joined() -> None:
    a, b = asked("a", 60, 1, lean=0.1), asked("b", 25, 2)
    found = overall(compare_unpaired([a, b], replicates=100))
    reports = [bootstrap(m.grid.values, context_weights=m.grid.given) for m in (a, b)]
    for row, measure in zip(found, ("R", "R_bias", "R_volatility"), strict=True):
        one, two = (getattr(report, measure) for report in reports)
        gap = one.value - two.value
        down = math.hypot(one.value - one.low, two.high - two.value)
        up = math.hypot(one.high - one.value, two.value - two.low)
        assert row == pytest.approx([gap, gap - down, gap + up], abs=1e-9)


def test_p_is_below_one_minus_level_exactly_when_the_interval_excludes_0() -> None:
    seen = set()
    for seed in range(6):
        a, b = asked("a", 40, seed, lean=0.06), asked("b", 40, 100 + seed)
        found = compare_unpaired([a, b], replicates=100, level=0.9)
        for d in (*found.overall, *found.by_group):
            excluded = present(d.low) > 0 or present(d.high) < 0
            assert (present(d.p) < 0.1) == excluded
            seen.add(excluded)
    assert seen == {True, False}


def test_for_many_even_contexts_r_is_welchs_test() -> None:
    rng = np.random.default_rng(3)
    p = [0.5 + 0.5 * np.tanh(0.6 + 0.2 * rng.standard_normal((1, n))) for n in (900, 400)]
    models = [
        OwnContexts(str(i), read_preferences(np.stack([q, 1 - q], -1)), [f"{i} {c}" for c in
                    range(q.size)])
        for i, q in enumerate(p)
    ]  # fmt: skip
    (r,) = (d for d in compare_unpaired(models, replicates=100).overall if d.measure == "R")
    expected = stats.ttest_ind(*(np.abs(2 * q[0] - 1) for q in p), equal_var=False)
    assert r.p == pytest.approx(expected.pvalue, rel=0.05)
    mean = [float(np.abs(2 * q - 1).mean()) for q in p]
    assert r.value == pytest.approx(mean[0] - mean[1])


def test_shared_contexts_narrow_the_interval_and_the_same_answers_differ_by_nothing() -> None:
    a, b = asked("a", 60, 1), asked("b", 60, 1, lean=0.05, contexts="a")
    apart = overall(compare_unpaired([a, asked("b", 60, 1, lean=0.05)], replicates=100))
    together = overall(compare_unpaired([a, b], replicates=100))
    assert ((together[:, 2] - together[:, 1]) < 0.7 * (apart[:, 2] - apart[:, 1])).all()
    paired = compare(a.grid.values, b.grid.values, context_weights=a.grid.given, replicates=100)
    width = present(paired.overall[0].high) - present(paired.overall[0].low)
    assert together[0, 2] - together[0, 1] == pytest.approx(width, rel=0.5)
    same = compare_unpaired([a, OwnContexts("again", a.grid, a.units)], replicates=100)
    assert {d.p for d in (*same.overall, *same.by_group)} == {1.0}
    assert {d.value for d in same.overall} == {0.0}


def test_clusters_and_sizes_are_reported() -> None:
    a, b = asked("a", 40, 1), asked("b", 12, 2)
    found = compare_unpaired([a, b], replicates=100)
    assert [one.contexts for one in found.own_contexts] == [40, 12]
    assert found.n_contexts == 52
    assert found.n_eff == pytest.approx(min(one.n_eff for one in found.own_contexts))
    assert found.n_clusters is None
    assert [r.rank for r in found.ranks if r.measure == "R"] in ([1, 2], [2, 1])
    clustered = OwnContexts("a", a.grid, [str(c // 4) for c in range(40)])
    assert compare_unpaired([clustered, b], replicates=100).n_clusters == 10 + 12
    assert "own_contexts" in found.to_dict()


def test_a_model_without_an_interval_has_no_difference_to_show() -> None:
    single = asked("one", 1, 1)
    found = compare_unpaired([asked("a", 40, 1), single], replicates=100)
    assert {(d.low, d.high, d.p) for d in found.overall} == {(None, None, None)}
    assert all(d.value is not None for d in found.overall)
