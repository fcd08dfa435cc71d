"""The corrections: hand values, independent loops, invariants, and a small simulation."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats
from tests.preferences import labelled, pair
from tests.present import present

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.measure import Preferences, corrected, decompose, estimate_risks, read_preferences
from clinometer.measure.correction import BiasModel, Sampling, Units
from clinometer.measure.counting_noise import extrapolation, sampled_correction


def test_hand_value_at_exact_parity() -> None:
    # s = 0.2, -0.2: mean 0, V = q/(1-q) × 0.04 with q = 1/2, so sigma = 0.2.
    # Cross-fit at t = 0 is -(2/a) phi(0) sigma; t = 0 says rho = 0, so nothing is mixed in.
    result = corrected([[0.6, 0.4], [0.4, 0.6]])
    expected = -2 * math.sqrt(2) / math.sqrt(2 * math.pi) * 0.2
    assert result.signed_bias == pytest.approx(expected, abs=1e-12)
    assert result.mix == 0
    assert result.R_bias.value == 0
    assert result.R_volatility.value == pytest.approx(0.2 - expected, abs=1e-12)
    assert result.plug_in == pytest.approx((0.2, 0.0, 0.2))


def test_plug_in_agrees_with_decompose(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(4), (5, 9))
    settings: dict[str, Any] = {
        "context_weights": rng.random(9),
        "group_weights": rng.random(5),
        "norm": 2,
    }
    report = decompose(p, **settings)
    found = corrected(p, **settings).plug_in
    values = (report.R.value, report.R_bias.value, report.R_volatility.value)
    assert found == pytest.approx(values, abs=1e-12)


@pytest.mark.parametrize("criterion", ["ratio", "share"])
@pytest.mark.parametrize("reference", [None, [0.3, 0.7]])
def test_closed_form_of_two_categories_equals_the_integral(
    rng: np.random.Generator, reference: ArrayLike | None, criterion: str
) -> None:
    p = pair(rng.beta(5, 5, (3, 8)))
    units = Units.of(read_preferences(p, reference=reference, criterion=criterion))
    model = BiasModel.of(units)
    V, mean, a = units.noise(), units.mean, math.sqrt(0.5)
    z = np.linspace(-9, 9, 200_001)
    density = np.exp(-z * z / 2)
    density /= density.sum()
    for x in range(3):
        d = np.sqrt(V[x, 0, 0]) * z[:, None] * np.array([1.0, -present(units.ratio)[x]])
        chosen = units.criterion.slope(mean[x] + a * d, mean[x] - d / a)
        assert model.cross_fit(mean)[x] == pytest.approx(
            float(chosen @ density), abs=2e-5
        )  # the grid cuts a jump


def test_general_cross_fit_is_near_the_closed_form(rng: np.random.Generator) -> None:
    p = pair(rng.beta(5, 5, (40, 12)))
    one = Units.of(read_preferences(p))
    star = np.full((40, 12, 2), 0.5)  # per cell: the general path
    other = Units.of(read_preferences(p, reference=star))
    assert one.ratio is not None
    assert other.ratio is None
    line = BiasModel.of(one).cross_fit(one.mean)
    nodes = BiasModel.of(other).cross_fit(other.mean)
    sigma = np.sqrt(one.noise()[:, 0, 0])
    assert np.abs(((line - nodes) / sigma).mean()) < 0.1


def test_noise_is_the_squared_standard_error_of_the_mean(rng: np.random.Generator) -> None:
    p = pair(rng.beta(2, 3, (2, 15)))
    V = Units.of(read_preferences(p)).noise()
    for x in range(2):
        assert V[x, 0, 0] == pytest.approx(stats.sem(2 * p[x, :, 0] - 1) ** 2, rel=1e-10)


def test_degrees_of_freedom_of_equal_weights_are_n_minus_one(rng: np.random.Generator) -> None:
    units = Units.of(read_preferences(pair(rng.random((3, 12)))))
    assert units.freedom == pytest.approx(11)
    assert units.spread == pytest.approx(1 / 12)


def test_invariants(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(2), (6, 10))
    w = rng.random(10)
    base = corrected(p, context_weights=w)
    order = rng.permutation(10)
    same = [
        corrected(p[:, order], context_weights=w[order]),
        corrected(p[..., ::-1], context_weights=w),
        corrected(p, context_weights=w * 7),
        corrected(p, context_weights=w, clusters=list(range(10))),
        corrected(np.concatenate([p, p[:, :1]], axis=1), context_weights=[*w, 0.0]),
    ]
    for other in same:
        assert other.signed_bias == pytest.approx(base.signed_bias, abs=1e-12)
        assert other.r_volatility == pytest.approx(base.r_volatility, abs=1e-12)


def test_a_split_context_changes_nothing_when_its_halves_are_one_cluster(
    rng: np.random.Generator,
) -> None:
    p, w = pair(rng.random((4, 6))), rng.random(6)
    split = np.concatenate([p, p[:, :1]], axis=1)
    halves = np.array([w[0] / 2, *w[1:], w[0] / 2])
    labels = ["a", "b", "c", "d", "e", "f", "a"]
    one, two = (
        corrected(p, context_weights=w),
        corrected(split, context_weights=halves, clusters=labels),
    )
    assert two.signed_bias == pytest.approx(one.signed_bias, abs=1e-12)


def test_without_noise_the_plug_in_value_is_unchanged() -> None:
    for p in ([[0.7, 0.3]], [[0.7, 0.3]] * 5):
        result = corrected(p)
        assert result.signed_bias == pytest.approx(0.4)
        assert result.R_volatility.value == pytest.approx(0, abs=1e-12)


def test_far_from_parity_nothing_is_corrected(rng: np.random.Generator) -> None:
    p = pair(0.9 + 0.05 * rng.random((5, 40)))
    result = corrected(p)
    assert result.signed_bias == pytest.approx(result.plug_in[1], abs=1e-9)


def test_missing_groups_stay_missing(rng: np.random.Generator) -> None:
    p, mask = pair(rng.random((3, 8))), np.ones((3, 8), dtype=bool)
    mask[1] = False
    result = corrected(p, mask=mask)
    assert np.isnan(result.r_bias).tolist() == [False, True, False]
    rest = corrected(p[[0, 2]])
    assert result.signed_bias == pytest.approx(rest.signed_bias, abs=1e-12)


@pytest.mark.parametrize(("n", "groups", "times"), [(10, 20, 150), (50, 20, 150), (10, 1, 1500)])
def test_at_most_a_quarter_of_the_bias_is_left(n: int, groups: int, times: int) -> None:
    rng, true = np.random.default_rng(n), 0.24609
    found = np.array(
        [
            (result.plug_in[2], result.R_volatility.value)
            for result in (corrected(pair(rng.beta(5, 5, (groups, n)))) for _ in range(times))
        ]
    )
    plain, better = found.mean(axis=0) - true
    assert plain < -0.03
    assert abs(better) <= abs(plain) / 4


def test_five_categories_are_corrected_too() -> None:
    rng = np.random.default_rng(5)
    many = rng.dirichlet(np.full(5, 2.0), 200_000)
    true = float(((5 * many.max(axis=1) - 1) / 4).mean())
    found = [corrected(rng.dirichlet(np.full(5, 2.0), (20, 10))) for _ in range(60)]
    plain = np.mean([r.plug_in[2] for r in found]) - true
    better = np.mean([r.R_volatility.value for r in found]) - true
    assert abs(better) <= abs(plain) / 4


def exact_thinned(k: int, m: int, node: int) -> float:
    """E|2j/node - 1| for j of k successes kept, by enumeration."""
    subsets = list(itertools.combinations([1] * k + [0] * (m - k), node))
    return math.fsum(abs(2 * sum(s) / node - 1) for s in subsets) / len(subsets)


def test_sampled_cells_agree_with_enumeration() -> None:
    m = 6
    nodes, factors = extrapolation(m, 2)
    assert nodes == [2, 4, 6]
    for k in (1, 3, 4):
        cell = np.tile([k / m, 1 - k / m], (4000, 1))
        exact = sum(f * exact_thinned(k, m, n) for f, n in zip(factors, nodes, strict=True))
        assert float(sampled_correction(read_preferences(cell), m).mean()) == pytest.approx(
            exact, abs=0.02
        )


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("m", [2, 3, 4, 5, 10, 25])
def test_extrapolation_is_exact_for_its_curve(m: int, K: int) -> None:
    nodes, factors = extrapolation(m, K)
    assert factors.sum() == pytest.approx(1)
    places = np.array([n | 1 if K == 2 else n for n in nodes], dtype=float)
    assert factors @ (0.3 + 2 / places) == pytest.approx(0.3)


def test_unanimous_answers_are_left_alone() -> None:
    assert sampled_correction(
        read_preferences([[1.0, 0.0], [0.0, 1.0]]), 10
    ).ravel() == pytest.approx([1, 1])


@pytest.mark.parametrize("m", [10, 25])
def test_sampled_answers_keep_a_quarter_of_the_bias(m: int) -> None:
    rng, true = np.random.default_rng(m), 0.24609
    plain, better = [], []
    for _ in range(6):
        p = pair(rng.binomial(m, rng.beta(5, 5, (20, 350))) / m)
        plain.append(decompose(p).R_volatility.value)
        better.append(corrected(p, samples=m).R_volatility.value)
    assert abs(np.mean(better) - true) <= abs(np.mean(plain) - true) / 4


@pytest.mark.parametrize(
    ("samples", "words"),
    [(0, "at least 1"), (7, "whole numbers"), ([10, 10, 10], "shape"), (2.5, "at least 1")],
)
def test_samples_that_do_not_fit_are_refused(samples: ArrayLike, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        corrected([[0.5, 0.5], [0.1, 0.9]], samples=samples)


def test_missing_sampled_cells_are_nan_and_ignored() -> None:
    p = np.array([[[0.5, 0.5], [np.nan, np.nan]]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sampled_correction(read_preferences(p, mask=[[True, False]]), 10)
    assert np.isfinite(found[0, 0])
    assert np.isnan(found[0, 1])


@pytest.mark.parametrize(("lean", "dice"), [(2.0, 6.0), (5.0, 3.0)])
def test_dice_on_a_long_scale_are_no_risk(lean: float, dice: float) -> None:
    """24 groups, 30 contexts, three replies of 0 to 100: dice are most of R as counted, or some."""
    how: dict[str, Any] = {"reference": "group-mean", "criterion": "points", "points": range(101)}
    off = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        middle = 60 + rng.normal(0, 8, (1, 30)) + rng.normal(0, lean, (24, 1))
        p = np.exp(-(((np.arange(101) - middle[..., None]) / dice) ** 2) / 2)
        p /= p.sum(axis=-1, keepdims=True)
        truth = decompose(p, **how).R.value
        replies = rng.multinomial(3, p) / 3
        assert decompose(replies, **how).R.value > truth + 0.005
        found = estimate_risks(replies, samples=3, **how).R
        assert present(found.low) <= truth <= present(found.high)
        off.append(found.value - truth)
    assert abs(np.mean(off)) < 0.004


def test_dice_in_a_few_contexts_leave_an_interval_that_says_something() -> None:
    """Six groups score alike, with dice in 3 of 17 contexts: once 0.002 (0.000 to 1.000)."""
    rng = np.random.default_rng(2)
    p = np.zeros((6, 17, 10))
    p[..., 7] = 1
    p[:, :3, 6:9] = 1 / 3
    replies = rng.multinomial(5, p) / 5
    how: dict[str, Any] = {"reference": "group-mean", "criterion": "points", "points": range(10)}
    found = estimate_risks(replies, samples=5, correct=False, **how).R
    assert found.low == 0.0
    assert present(found.high) < 10 * decompose(replies, **how).R.value


# --- what an interval speaks of -------------------------------------------------------------------


def preferences(contexts: ContextSet, up: dict[str, np.ndarray]) -> Preferences:
    """Those of a model whose answers in each context are known."""
    p = np.stack([up[t] for t in contexts.templates], axis=1)
    of = {"contexts": contexts.ids, "context_weights": contexts.weights}
    return labelled(pair(p), **of, sampling=contexts.sampling)


def named(n: int) -> list[str]:
    return [f"The [X] said on day {i} that [Y]" for i in range(n)]


def answers(rng: np.random.Generator, n: int, groups: int = 10) -> dict[str, np.ndarray]:
    lean = rng.normal(0.6, 0.05, (groups, 1))
    spread = np.clip(lean + rng.normal(0, 0.15, (groups, n)), 0.01, 0.99)
    return dict(zip(named(n), spread.T, strict=True))


@pytest.mark.parametrize("population", ["similar", "corpus", "set"])
def test_one_context_more_or_less_changes_no_width(population: str) -> None:
    """1,421 of 1,422 contexts, counts as mined ones have them."""
    rng = np.random.default_rng(3)
    counts = np.random.default_rng(1).zipf(2.2, 1422).clip(1, 200).astype(float)
    whole = ContextSet("mined", named(1422), counts.tolist())
    up = answers(rng, 1422)
    widths = []
    for n in (1421, 1422):
        report = preferences(whole.draw(n, seed=0), up).estimate(population=population)
        R = report.R
        widths.append(0.0 if R.low is None or R.high is None else R.high - R.low)
    if population == "set":  # exact with all contexts, and all but exact without one of them
        assert widths[1] == 0.0
        assert widths[0] < 0.002
    else:
        assert widths[0] == pytest.approx(widths[1], rel=0.05)


@pytest.mark.parametrize("population", ["corpus", "set"])
def test_intervals_hold_what_they_speak_of(population: str) -> None:
    """75 repetitions: at least 95 % less 3 standard errors (7.5), for all three risks."""
    rng = np.random.default_rng(7)
    held = np.zeros(3)
    for _ in range(75):
        up = answers(rng, 300, groups=6)
        law = rng.dirichlet(np.full(300, 0.5))
        mined = rng.multinomial(600, law)
        seen = np.flatnonzero(mined)
        names = [named(300)[i] for i in seen]
        found = ContextSet("mined", names, mined[seen].astype(float).tolist())
        if population == "corpus":
            asked = preferences(found, up)
            everything = ContextSet("law", named(300), np.maximum(law, 1e-12).tolist())
            truth = preferences(everything, up).decompose()
        else:
            asked = preferences(found.draw(60, seed=int(rng.integers(1 << 30))), up)
            truth = preferences(found, up).decompose()
        report = asked.estimate(population=population)
        for i, name in enumerate(("R", "R_bias", "R_volatility")):
            e, value = getattr(report, name), getattr(truth, name).value
            held[i] += e.low <= value <= e.high
    assert (held / 75 >= 0.875).all()


def test_a_whole_set_is_exact_for_itself() -> None:
    rng = np.random.default_rng(0)
    p = preferences(ContextSet("all", named(40), [2] * 40), answers(rng, 40))
    report = p.estimate(population="set")
    assert report.R.low is None
    assert report.R == p.decompose().R
    wide, narrow = p.estimate(population="similar").R, p.estimate(population="corpus").R
    assert wide.high - wide.low > narrow.high - narrow.low > 0  # type: ignore[operator]


def test_the_correction_respects_the_population() -> None:
    """Little to correct for a corpus of many occurrences, more for similar contexts."""
    rng = np.random.default_rng(0)
    up = dict(zip(named(20), rng.beta(5, 5, (20, 30)), strict=True))
    p = preferences(ContextSet("all", named(20), [500] * 20), up)
    plain = p.decompose().R_bias.value
    similar, corpus = (p.corrected(population=t).R_bias.value for t in ("similar", "corpus"))
    assert corpus == pytest.approx(plain, abs=0.01)
    assert similar < plain - 0.02


def test_what_cannot_be_meant_is_refused() -> None:
    rng = np.random.default_rng(0)
    p = preferences(ContextSet("all", named(9), [0.5] * 9), answers(rng, 9))
    with pytest.raises(SettingsError, match="counts of occurrences"):
        p.estimate(population="corpus")
    with pytest.raises(SettingsError, match="expected set, corpus, similar"):
        p.estimate(population="world")
    assert Sampling().draws("set") == np.inf
