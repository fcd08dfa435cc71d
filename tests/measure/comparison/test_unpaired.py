"""Models in contexts of their own: the intervals of both audits, joined."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from tests.preferences import pair
from tests.present import present

from clinometer.measure import compare, estimate_risks, read_preferences
from clinometer.measure.comparison import Comparison, OwnContexts, compare_unpaired
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
) -> OwnContexts:
    """A model that leans by group, further by `lean`, in n contexts named after `contexts`."""
    rng = np.random.default_rng(seed)
    leans = size * LEANS + np.sign(LEANS) * lean
    s = np.tanh(leans + 0.3 * rng.standard_normal((n, LEANS.size))).T
    p = np.stack([1 + s, 1 - s], axis=-1) / 2
    weights = 1.0 / np.arange(1, n + 1) ** 0.5
    grid = read_preferences(p, context_weights=weights)
    return OwnContexts(name, grid, [f"{contexts or name} {c}" for c in range(n)])


def overall(found: Comparison) -> FloatArray:
    return np.array([[present(v) for v in (d.corrected, d.low, d.high)] for d in found.overall])


def joined(one: Sequence[float], two: Sequence[float]) -> list[float]:
    """Difference and interval from two of (value, low, high)."""
    gap = one[0] - two[0]
    down, up = (
        math.hypot(one[0] - one[1], two[2] - two[0]),
        math.hypot(one[2] - one[0], two[0] - two[1]),
    )
    return [gap, gap - down, gap + up]


def test_the_intervals_of_both_audits_are_joined() -> None:
    """Of R, of every group, and near parity of R^b and R^v too."""
    a, b = asked("a", 60, 1, lean=0.1), asked("b", 25, 2)
    found = compare_unpaired([a, b])
    reports = [estimate_risks(m.grid.values, context_weights=m.grid.given) for m in (a, b)]
    shown = overall(found)[0]
    ends = [[r.R.value, present(r.R.low), present(r.R.high)] for r in reports]
    assert shown == pytest.approx(joined(*ends), abs=1e-9)
    for x, group in enumerate(a.grid.groups):
        for measure in ("r", "r_bias", "r_volatility"):
            ends = [
                [getattr(r, measure)[x], *getattr(present(r.intervals), measure)[x]]
                for r in reports
            ]
            (d,) = (d for d in found.by_group if (d.group, d.measure) == (group, measure))
            row = [present(v) for v in (d.corrected, d.low, d.high)]
            assert row == pytest.approx(joined(*ends), abs=1e-9)


@pytest.mark.parametrize("size", [0.0, 3.0])
def test_clear_leans_have_linear_errors_and_leans_of_noise_do_not(size: float) -> None:
    a, b = asked("a", 60, 1, size=size), asked("b", 25, 2, size=size)
    found = overall(compare_unpaired([a, b]))[1]
    reports = [estimate_risks(m.grid.values, context_weights=m.grid.given) for m in (a, b)]
    bias = [(r.R_bias.value, present(r.R_bias.low), present(r.R_bias.high)) for r in reports]
    variance = [slow_variance(m) for m in (a, b)]
    half = math.sqrt(sum(v for v, _ in variance))
    freedom = sum(v for v, _ in variance) ** 2 / sum(v * v / n for v, n in variance)
    gap = bias[0][0] - bias[1][0]
    reach = float(stats.t.ppf(0.975, freedom)) * half
    expected = [gap, gap - reach, gap + reach] if size else joined(*bias)
    assert found == pytest.approx(expected, abs=1e-9)


def slow_variance(model: OwnContexts) -> tuple[float, float]:
    """Variance of R^b for known leans, and its degrees of freedom, context by context."""
    w = present(model.grid.given) / present(model.grid.given).sum()
    s = 2 * model.grid.values[..., 0] - 1
    sign = np.sign(s @ w)
    deviation = np.array([np.mean(sign * (s[:, c] - s @ w)) for c in range(w.size)])
    q = sum(x * x for x in w)
    form = np.diag(w) - np.outer(w, w)
    freedom = np.trace(form) ** 2 / np.trace(form @ form)
    return float(q / (1 - q) * sum(w * deviation**2)), float(freedom)


def test_p_is_below_one_minus_level_exactly_when_the_interval_excludes_0() -> None:
    seen = set()
    for seed in range(6):
        a, b = asked("a", 40, seed, lean=0.06), asked("b", 40, 100 + seed)
        found = compare_unpaired([a, b], level=0.9)
        for d in (*found.overall, *found.by_group):
            excluded = present(d.low) > 0 or present(d.high) < 0
            assert (present(d.p) < 0.1) == excluded
            seen.add(excluded)
    assert seen == {True, False}


def test_for_many_even_contexts_r_is_welchs_test() -> None:
    rng = np.random.default_rng(3)
    p = [0.5 + 0.5 * np.tanh(0.6 + 0.2 * rng.standard_normal((1, n))) for n in (900, 400)]
    models = [
        OwnContexts(str(i), read_preferences(pair(q)), [f"{i} {c}" for c in
                    range(q.size)])
        for i, q in enumerate(p)
    ]  # fmt: skip
    (r,) = (d for d in compare_unpaired(models).overall if d.measure == "R")
    expected = stats.ttest_ind(*(np.abs(2 * q[0] - 1) for q in p), equal_var=False)
    assert r.p == pytest.approx(expected.pvalue, rel=0.05)
    mean = [float(np.abs(2 * q - 1).mean()) for q in p]
    assert r.value == pytest.approx(mean[0] - mean[1])


def test_shared_contexts_narrow_the_interval_and_the_same_answers_differ_by_nothing() -> None:
    a, b = asked("a", 60, 1), asked("b", 60, 1, lean=0.05, contexts="a")
    apart = overall(compare_unpaired([a, asked("b", 60, 1, lean=0.05)]))
    together = overall(compare_unpaired([a, b]))
    assert ((together[:, 2] - together[:, 1]) < 0.7 * (apart[:, 2] - apart[:, 1])).all()
    paired = compare(a.grid.values, b.grid.values, context_weights=a.grid.given)
    width = present(paired.overall[0].high) - present(paired.overall[0].low)
    assert together[0, 2] - together[0, 1] == pytest.approx(width, rel=0.5)
    same = compare_unpaired([a, OwnContexts("again", a.grid, a.units)])
    assert {d.p for d in (*same.overall, *same.by_group)} == {1.0}
    assert {d.value for d in same.overall} == {0.0}


def test_clusters_and_sizes_are_reported() -> None:
    a, b = asked("a", 40, 1), asked("b", 12, 2)
    found = compare_unpaired([a, b])
    assert [one.contexts for one in found.own_contexts] == [40, 12]
    assert found.n_contexts == 52
    assert found.n_eff == pytest.approx(min(one.n_eff for one in found.own_contexts))
    assert found.n_clusters is None
    assert [r.rank for r in found.ranks if r.measure == "R"] in ([1, 2], [2, 1])
    clustered = OwnContexts("a", a.grid, [str(c // 4) for c in range(40)])
    assert compare_unpaired([clustered, b]).n_clusters == 10 + 12
    assert "own_contexts" in found.to_dict()


def test_a_model_without_an_interval_has_no_difference_to_show() -> None:
    single = asked("one", 1, 1)
    found = compare_unpaired([asked("a", 40, 1), single])
    assert {(d.low, d.high, d.p) for d in found.overall} == {(None, None, None)}
    assert all(d.value is not None for d in found.overall)
