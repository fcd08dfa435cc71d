"""The interval of a mean, the test of a difference, and the bracket of the risks."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.measure import plain_loops
from tests.preferences import labelled, pair
from tests.present import present

from clinometer.errors import SettingsError
from clinometer.measure import (
    RiskReport,
    decompose,
    estimate_risks,
    read_preferences,
)
from clinometer.measure.bracket import bracket
from clinometer.measure.context_means import mean_risks
from clinometer.measure.evidence import Evidence
from clinometer.measure.risks import MEASURES
from clinometer.runs import compare as compare_runs
from clinometer.statistics.arrays import BoolArray, FloatArray
from clinometer.statistics.intervals.means import interval_of_means


def ends(report: RiskReport) -> FloatArray:
    return np.array(
        [(getattr(report, n).low, getattr(report, n).high) for n in MEASURES]
    )


# --- the bracket ----------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["ratio", "share", "points"])
def test_the_bracket_of_bias_is_plug_in_and_cross_fit(
    rng: np.random.Generator, criterion: str
) -> None:
    """Loops over splits of its own: a third measures along what two thirds choose."""
    p = rng.dirichlet(np.ones(3), (4, 12))
    w = rng.random(12)
    w /= w.sum()
    grid = read_preferences(
        p, context_weights=w, criterion=criterion, categories=list("123")
    )
    J = grid.criterion
    estimate = bracket(Evidence.of(grid))
    s = (3 * p - 1) / 2 if criterion == "ratio" else p - 1 / 3

    plug_in = [float(J(w @ s[x])) for x in range(4)]
    assert estimate.plug_in[1] == pytest.approx([*plug_in, np.mean(plug_in)])

    cross_fit = np.zeros(4)
    for _ in range(1500):
        order = rng.permutation(12)
        for x in range(4):
            for part in range(3):
                third = order[4 * part : 4 * part + 4]
                two_thirds = np.setdiff1d(order, third)
                direction = J.gradient(w[two_thirds] @ s[x, two_thirds])
                cross_fit[x] += float(direction @ (w[third] @ s[x, third])) / 1500
    for x in range(4):
        low = min(plug_in[x], cross_fit[x])
        # The middle of the bracket, whose lower end is at least 0.
        middle = max((plug_in[x] + low) / 2, plug_in[x] / 2)
        assert estimate.value[1, x] == pytest.approx(middle, abs=0.02)


def test_at_parity_the_lower_end_is_below_0_and_the_value_half_the_plug_in() -> None:
    rng = np.random.default_rng(0)
    p = pair(rng.beta(5, 5, (40, 20)))
    report = estimate_risks(p)
    assert report.R_bias.low == 0
    assert report.R_bias.value == pytest.approx(decompose(p).R_bias.value / 2, rel=0.15)


def test_far_from_parity_r_b_is_a_mean(rng: np.random.Generator) -> None:
    p = pair(rng.beta(60, 20, (1, 30)))
    report, s = estimate_risks(p), 2 * p[0, :, 0] - 1
    interval = interval_of_means(s[:, None], np.full((30, 1), 1 / 30))
    ends = interval.low[0], interval.high[0]
    assert report.R_bias.value == pytest.approx(s.mean(), abs=1e-12)
    assert (report.R_bias.low, report.R_bias.high) == pytest.approx(ends)


def test_values_add_up_and_lie_in_their_intervals(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.full(3, 0.5), (5, 20))
    mask = rng.random((5, 20)) < 0.7
    mask[2] = False
    mask[3, 1:] = False
    mask[3, 0] = True
    for samples in (None, 4):
        cells = p if samples is None else rng.multinomial(4, p) / 4
        report = estimate_risks(cells, mask=mask, samples=samples)
        whole = report.R_bias.value + report.R_volatility.value
        assert report.R.value == pytest.approx(whole, abs=1e-12)
        for name in MEASURES:
            estimate = getattr(report, name)
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        for name in ("r", "r_bias", "r_volatility"):
            bounds, values = getattr(report.intervals, name), getattr(report, name)
            missing = np.isnan(bounds).all(axis=1)
            assert missing[[2, 3]].all()
            good = np.flatnonzero(~missing)
            assert good.tolist() == [0, 1, 4]
            assert (bounds[good, 0] <= values[good]).all()
            assert (values[good] <= bounds[good, 1]).all()
        assert "NaN" not in json.dumps(report.to_dict())


def exact_risks(*risks: float) -> FloatArray:
    """[1,C,2]: the probabilities of one group whose contexts have these risks."""
    return pair((1 + np.array([risks])) / 2)


def test_of_three_contexts_the_log_odds_of_r_reach_twice_as_far_as_students() -> None:
    """Without skewness, so that nothing else reaches further: 1 + 3/3 times t √(s²/3)."""
    found = bracket(Evidence.of(read_preferences(exact_risks(0.38, 0.4, 0.42))))
    reach = stats.t.ppf(0.975, 2) * 0.02 / math.sqrt(3)
    log_odds = math.log(0.4 / 0.6) + 2 * reach / (0.4 * 0.6)
    assert found.high[0, 0] == pytest.approx(1 / (1 + math.exp(-log_odds)))


def test_near_0_the_upper_end_of_r_is_twice_the_stretched_reach_above_the_mean() -> (
    None
):
    """The log odds of 0.02 would end at 0.76."""
    found = bracket(Evidence.of(read_preferences(exact_risks(0.0, 0.02, 0.04))))
    reach = stats.t.ppf(0.975, 2) * 0.02 / math.sqrt(3)
    assert found.high[0, 0] == pytest.approx(0.02 + 2 * (2 * reach))


def test_the_upper_end_of_swing_allows_for_the_lean_that_was_not_cross_fitted() -> None:
    """Of clear leans of three categories it is that of J less the lean, and what the plug-in mean
    of the lean is above the cross-fitted one: twice the half width of the bracket."""
    p = np.random.default_rng(15).dirichlet([6, 4, 2], (6, 12))
    found = bracket(Evidence.of(read_preferences(p, criterion="share")))
    assert (found.low[1] > 0).all()
    swing = interval_of_means(found.contributions[2], found.weights)
    slack = 2 * found.half_width[1]
    assert (slack[:6] > 0.001).all()
    assert found.high[2, :6] == pytest.approx((swing.high + slack)[:6], abs=1e-9)


def test_all_of_r_may_be_swing_where_the_lean_may_be_0(
    rng: np.random.Generator,
) -> None:
    p = pair(rng.beta(5, 5, (10, 20)))
    found = bracket(Evidence.of(read_preferences(p)))
    without_lean = found.low[1] == 0
    assert without_lean.any()
    assert (found.high[2] == found.high[0])[without_lean].all()


def test_invariants(rng: np.random.Generator) -> None:
    p, w = rng.dirichlet(np.ones(3), (4, 15)), rng.random(15)
    base = estimate_risks(p, context_weights=w)
    assert ends(estimate_risks(p, context_weights=9 * w)) == pytest.approx(
        ends(base), abs=1e-9
    )
    turned = estimate_risks(p[..., ::-1], context_weights=w)
    assert ends(turned) == pytest.approx(ends(base), abs=1e-9)
    own = estimate_risks(p, context_weights=w, clusters=list("abcdefghijklmno"))
    assert ends(own) == pytest.approx(ends(base), abs=1e-9)
    order = rng.permutation(15)  # only the random splits differ
    other = estimate_risks(p[:, order], context_weights=w[order])
    assert ends(other) == pytest.approx(ends(base), abs=0.03)
    assert estimate_risks(p, context_weights=w).to_dict() == base.to_dict()
    wider = ends(estimate_risks(p, context_weights=w, level=0.99))
    assert (np.ptp(wider, axis=1) >= np.ptp(ends(base), axis=1)).all()


def test_a_heavy_context_does_not_look_like_noise() -> None:
    """It pulls the directions of 120 groups; along them R^b was 0.22 wide, along those that the
    other contexts choose 0.16."""
    weights, widths = [8.0] + [1.0] * 9, []
    for seed in range(4):
        z = np.random.default_rng(seed).standard_normal((120, 10))
        report = estimate_risks(
            pair((1 + np.tanh(0.1 + 0.35 * z)) / 2), context_weights=weights
        )
        low, high = ends(report)[1]
        assert low <= 0.09 <= high
        widths.append(high - low)
    assert np.mean(widths) < 0.19


def test_clusters_widen_the_interval_of_repeated_contexts(
    rng: np.random.Generator,
) -> None:
    base = rng.beta(5, 5, (10, 20))
    p = pair(np.repeat(base, 5, axis=1))
    labels = np.repeat(np.arange(20), 5)
    naive, honest = estimate_risks(p), estimate_risks(p, clusters=labels.tolist())
    alone = estimate_risks(pair(base))
    assert honest.n_eff == pytest.approx(20)
    assert ends(honest) == pytest.approx(ends(alone), abs=1e-9)
    assert np.ptp(ends(naive)[0]) < 0.6 * np.ptp(ends(honest)[0])


def test_a_single_context_has_a_value_and_no_interval() -> None:
    single = estimate_risks([[0.7, 0.3]])
    assert single.R.low is None
    assert single.R.value == pytest.approx(0.4)  # 2 · 0.7 - 1
    single_of_weight = estimate_risks([[0.7, 0.3], [0.2, 0.8]], context_weights=[1, 0])
    assert single_of_weight.R.low is None


def test_many_contexts_that_agree_have_an_interval_of_no_width() -> None:
    leaning = estimate_risks(pair(np.full((3, 36), 0.7)))
    expected = np.array([[0.4, 0.4], [0.4, 0.4], [0, 0]])  # R, bias, volatility
    assert ends(leaning) == pytest.approx(expected, abs=1e-6)
    parity = estimate_risks(pair(np.full((3, 36), 0.5)))
    assert ends(parity) == pytest.approx(0)


def test_six_contexts_that_agree_have_no_interval() -> None:
    report = estimate_risks(pair(np.full((3, 6), 0.7)))
    for name in MEASURES:
        assert getattr(report, name).low is None
    assert np.isnan(present(report.intervals).r_bias).all()
    assert "30 effective" in present(report.R.note)


def test_three_contexts_that_differ_suffice_for_an_interval() -> None:
    three_contexts = estimate_risks(pair(np.array([[0.7, 0.2, 0.6]])))
    assert three_contexts.R.low is not None
    two_contexts = estimate_risks(pair(np.array([[0.7, 0.2]])))
    assert two_contexts.R.low is None
    note = "these are too few contexts to tell; 3 effective ones would do"
    assert two_contexts.R.note == note


def test_preferences_without_a_cell_are_refused() -> None:
    with pytest.raises(SettingsError, match="nothing to average"):
        estimate_risks(pair(np.full((1, 3), 0.5)), mask=[[False] * 3])


@pytest.mark.parametrize("setting", [{"level": 1}, {"clusters": ["a"]}])
def test_wrong_settings_are_named(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(setting))):
        estimate_risks(pair(np.array([0.2, 0.4, 0.9]))[None], **setting)


@pytest.mark.parametrize(
    ("a", "b", "n", "kind", "truth"),
    [
        (5, 5, 10, "even", (0.24609, 0.0, 0.24609)),
        (5, 5, 50, "zipf", (0.24609, 0.0, 0.24609)),
        (6, 4, 50, "even", (0.29531, 0.2, 0.09531)),
        (6, 4, 10, "zipf", (0.29531, 0.2, 0.09531)),
    ],
)
def test_coverage(
    a: int, b: int, n: int, kind: str, truth: tuple[float, float, float]
) -> None:
    rng, held, times = np.random.default_rng(n + a), np.zeros(3), 100
    w = np.ones(n) if kind == "even" else 1 / np.arange(1, n + 1)
    for _ in range(times):
        report = estimate_risks(pair(rng.beta(a, b, (10, n))), context_weights=w)
        for k, (low, high) in enumerate(ends(report)):
            held[k] += low - 1e-9 <= truth[k] <= high + 1e-9
    assert (held / times >= 0.87).all()  # 94 % less three standard errors of 2.4 %


# --- replies --------------------------------------------------------------------------------------


def asked(
    rng: np.random.Generator, m: int, lean: float, shape: tuple[int, int]
) -> FloatArray:
    up = np.clip(0.55 + 0.1 * rng.standard_normal((1, shape[1])), 0.05, 0.95)
    p = np.repeat(up, shape[0], axis=0)
    p[0] -= lean
    return rng.binomial(m, np.clip(p, 0, 1)) / m


@pytest.mark.parametrize("m", [2, 5])
def test_replies_of_a_model_that_treats_everyone_alike_leave_0_possible(m: int) -> None:
    """60 audits of 8 groups in 30 contexts: 0 is excluded in 2.5 % of them, at most 6 of 60."""
    rng, excluded, plain = np.random.default_rng(3), 0, 0
    for _ in range(60):
        p = pair(asked(rng, m, 0.0, (8, 30)))
        how: dict[str, Any] = {"reference": "group-mean"}
        excluded += present(estimate_risks(p, samples=m, **how).R.low) > 0
        plain += present(estimate_risks(p, **how).R.low) > 0
    assert excluded <= 6
    assert plain == 60


@pytest.mark.parametrize("unread", [0.003, 0.01, 0.15, 0.5])
def test_unread_replies_stay_within_intervals(unread: float) -> None:
    """One reply of 360, 1 %, 15 % and half of them; three replies a cell, so that some cells keep
    one, and some none. No comparison with all of the replies is clear."""
    rng = np.random.default_rng(5)
    shape = (6, 20)
    counts = np.round(asked(rng, 3, 0.0, shape) * 3).astype(int)
    is_up = np.arange(3) < counts[..., None]  # of each of the three replies
    is_read = rng.random(is_up.shape) >= unread
    if unread < 0.01:
        is_read[:] = True
        is_read[0, 0, 0] = False
    replies_read = is_read.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        share_up = (is_up & is_read).sum(axis=-1) / replies_read

    settings = {"reference": "group-mean", "criterion": "share"}
    whole = labelled(pair(counts / 3), answers=np.full(shape, 3.0), **settings)
    part = labelled(pair(share_up), answers=replies_read.astype(float), **settings)
    whole_report = whole.estimate()
    part_report = part.estimate()
    for name in MEASURES:
        of_whole = getattr(whole_report, name)
        of_part = getattr(part_report, name)
        assert of_part.low <= of_whole.value <= of_part.high
        if unread < 0.1:
            assert of_whole.low <= of_part.value <= of_whole.high
    for difference in compare_runs(whole, part).overall:
        assert difference.clear_sign(0.95) == 0


def test_one_reply_a_cell_leaves_r_between_the_lean_and_what_is_seen() -> None:
    rng = np.random.default_rng(0)
    p = pair(asked(rng, 1, 0.3, (4, 60)))
    report = estimate_risks(p, samples=1, reference="group-mean")
    seen = decompose(p, reference="group-mean").R.value
    assert present(report.R.low) < report.R.value < seen <= present(report.R.high)
    assert "replies" in present(report.R.note)


# --- what the groups share of R -------------------------------------------------------------------


def slow_split(
    p: FloatArray,
    *,
    w_c: FloatArray,
    w_x: FloatArray,
    star: FloatArray,
    norm: float,
    mask: BoolArray,
    raw: bool,
) -> tuple[float, float]:
    """R_shared and R_between, cell by cell."""
    X, C, K = p.shape
    worst = max(1 / v - 1 for v in star) if not raw else 1.0
    seen = [x for x in range(X) if any(mask[x][c] and w_c[c] > 0 for c in range(C))]
    groups = math.fsum(w_x[x] for x in seen)
    cell = np.zeros((X, C))
    for x in seen:
        total = math.fsum(w_c[c] for c in range(C) if mask[x][c])
        for c in range(C):
            cell[x, c] = w_x[x] / groups * w_c[c] / total if mask[x][c] else 0.0
    shared = between = 0.0
    for c in range(C):
        here = [x for x in range(X) if cell[x, c] > 0]
        if not here:
            continue
        whole = math.fsum(cell[x, c] for x in here)
        s = {x: [(p[x][c][y] / star[y] - 1) / worst for y in range(K)] for x in here}
        mean = [math.fsum(cell[x, c] * s[x][y] for x in here) / whole for y in range(K)]
        shared += whole * plain_loops.criterion_of(mean, norm, "ratio")
        for x in here:
            between += cell[x, c] * plain_loops.criterion_of(
                [a - m for a, m in zip(s[x], mean, strict=True)], norm, "ratio"
            )
    return shared, between


@given(seed=st.integers(0, 10_000))
def test_the_split_matches_plain_loops_and_keeps_its_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(2, 6)
    C = rng.integers(1, 8)
    K = rng.integers(2, 5)
    p = rng.dirichlet(np.ones(K), (X, C))
    w_c = rng.random(C) + 0.1
    w_x = rng.random(X) + 0.1
    star = rng.dirichlet(np.full(K, 5.0)) * 0.9 + 0.1 / K
    mask = rng.random((X, C)) < 0.8
    mask[:, 0] = True
    norm = float(rng.choice([1.0, 2.0, np.inf]))
    raw = bool(rng.random() < 0.5)
    scale = "raw" if raw else "ratio"
    settings: dict[str, Any] = {
        "context_weights": w_c,
        "group_weights": w_x,
        "reference": star,
        "mask": mask,
        "criterion": f"{scale}:{norm}",
    }
    risks = mean_risks(read_preferences(p, **settings))
    shared = risks["R_shared"].value
    between = risks["R_between"].value
    expected = slow_split(p, w_c=w_c, w_x=w_x, star=star, norm=norm, mask=mask, raw=raw)
    assert (shared, between) == pytest.approx(expected, abs=1e-12)
    R = decompose(p, **settings).R.value
    assert shared <= R + 1e-12
    assert shared + between + 1e-12 >= R


def test_a_lean_of_all_groups_and_one_of_half_of_them_are_told_apart(
    rng: np.random.Generator,
) -> None:
    side = np.where(np.arange(16) % 2 == 0, 1.0, -1.0)[:, None]
    for shared, between in ((0.5, 0.0), (0.4, 0.2), (0.2, 0.5)):
        up = (1 + shared + between * side + rng.normal(0, 0.02, (1, 40))) / 2
        report = labelled(pair(up)).estimate()
        same, apart = present(report.R_shared), present(report.R_between)
        assert same.value == pytest.approx(shared, abs=0.02)
        assert apart.value == pytest.approx(between, abs=1e-9)
        assert (
            present(same.low)
            <= same.value
            <= present(same.high)
            <= present(report.R.high)
        )
        # A lean of one sign hides a smaller difference: R is the larger of the two, not their sum.
        assert report.R.value == pytest.approx(max(shared, between), abs=0.02)


def test_groups_that_never_meet_in_a_context_have_no_split() -> None:
    assert "R_between" not in mean_risks(read_preferences([[0.9, 0.1], [0.2, 0.8]]))
    p = np.full((2, 4, 2), 0.5)
    mask = np.array([[True, True, False, False], [False, False, True, True]])
    assert "R_between" not in mean_risks(read_preferences(p, mask=mask))
    mask[1, 0] = True
    assert "R_between" in mean_risks(read_preferences(p, mask=mask))
