"""A judge's labels against people's, and risks as people would have them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from tests.preferences import pair

from clinometer.errors import SettingsError
from clinometer.measure import decompose, estimate_risks, read_preferences
from clinometer.measure.confusion import Confusion, unlike
from clinometer.measure.judge import calibrated_risks
from clinometer.statistics.arrays import FloatArray

MATRIX = np.array([[0.9, 0.1], [0.25, 0.75]])
NAMES = ("hire", "reject")


def confusion_of(matrix: FloatArray, labels: float) -> Confusion:
    names = NAMES if len(matrix) == 2 else tuple(map(str, range(len(matrix))))
    return Confusion(names, matrix * labels)


def people(rng: np.random.Generator, groups: int, contexts: int) -> FloatArray:
    logit = 0.6 + 0.8 * rng.standard_normal((groups, contexts))
    up = 1 / (1 + np.exp(-logit))
    return pair(up)


def test_a_judge_that_read_every_reply_gives_peoples_risks_back() -> None:
    p = people(np.random.default_rng(0), 3, 40)
    q = p @ MATRIX
    found = calibrated_risks(read_preferences(q), confusion_of(MATRIX, 1000))
    exact = decompose(p)
    assert found.r == pytest.approx(exact.r, abs=1e-12)
    assert found.R.value == pytest.approx(exact.R.value, abs=1e-12)
    assert found.R_bias.value == pytest.approx(
        estimate_risks(p).R_bias.value, abs=1e-12
    )
    assert abs(decompose(q).R_bias.value - found.R_bias.value) > 0.01


def test_labels_without_end_leave_the_interval_of_contexts() -> None:
    p = people(np.random.default_rng(1), 4, 50)
    q = read_preferences(p @ MATRIX)
    certain = calibrated_risks(q, confusion_of(MATRIX, 1e9))
    plain = estimate_risks(p)
    for name in ("R", "R_bias", "R_volatility"):
        a, b = getattr(certain, name), getattr(plain, name)
        assert (a.value, a.low, a.high) == pytest.approx(
            (b.value, b.low, b.high), abs=1e-4
        )
    few = calibrated_risks(q, confusion_of(MATRIX, 100), clusters=[*range(25)] * 2)
    assert (few.R.high or 0) - (few.R.low or 0) > (certain.R.high or 0) - (
        certain.R.low or 0
    )
    assert few.intervals is not None
    assert few.R.method.endswith("judge")
    assert few.n_eff == pytest.approx(25)


@pytest.mark.parametrize("K", [2, 3])
def test_the_error_of_the_labels_is_that_of_labelling_again(K: int) -> None:
    """The delta method against 300 confusions drawn anew, contexts held fixed."""
    rng = np.random.default_rng(2)
    matrix = np.full((K, K), 0.25 / (K - 1))
    np.fill_diagonal(matrix, 0.75)
    p = rng.dirichlet(np.linspace(4, 2, K), (3, 200))
    q = read_preferences(p @ matrix)
    narrow = calibrated_risks(q, confusion_of(matrix, 1e9)).R
    wide = calibrated_risks(q, confusion_of(matrix, 200)).R
    drawn = []
    for _ in range(300):
        counts = np.stack([rng.multinomial(200, row) for row in matrix]).astype(float)
        again = np.linalg.inv(counts / counts.sum(axis=1, keepdims=True))
        s = (p @ matrix @ again * K - 1) / (K - 1)
        drawn.append(np.maximum(s, 0).max(axis=-1).mean())
    assert wide.low is not None
    assert narrow.low is not None
    added = (
        math.sqrt((wide.value - wide.low) ** 2 - (narrow.value - narrow.low) ** 2)
        / 1.96
    )
    assert added == pytest.approx(float(np.std(drawn)), rel=0.15)


def test_calibrated_intervals_hold_and_plain_ones_miss() -> None:
    """40 audits by a lenient judge: without the correction most miss the steady lean."""
    rng = np.random.default_rng(5)
    truth = decompose(people(rng, 1, 200_000))
    calibrated_hits = 0
    plain_hits = 0
    for _ in range(40):
        # 20 replies a cell; the judge takes 90 % of those for "hire" that are, 25 % of the rest.
        hires = rng.binomial(20, people(rng, 5, 50)[..., 0])
        judged = rng.binomial(hires, 0.9) + rng.binomial(20 - hires, 0.25)
        grid = read_preferences(pair(judged / 20))
        labels = rng.multinomial([200, 120], MATRIX).astype(float)
        replies = np.full((5, 50), 20.0)
        calibrated = calibrated_risks(grid, Confusion(NAMES, labels), samples=replies).R
        plain = estimate_risks(grid.values).R_bias
        calibrated_hits += (
            (calibrated.low or 0) <= truth.R.value <= (calibrated.high or 0)
        )
        plain_hits += (plain.low or 0) <= truth.R_bias.value <= (plain.high or 0)
    assert calibrated_hits >= 34  # 95 % less four standard errors
    assert plain_hits <= 16


def test_labels_are_counted_and_what_is_no_category_is_left_out() -> None:
    people = ["yes"] * 8 + ["no"] * 6 + ["other", "yes"]
    judge = ["yes"] * 7 + ["no"] + ["no"] * 6 + ["yes", "refusal"]
    found = Confusion.of(people, judge, ["yes", "no"])
    assert found.counts.tolist() == [[7, 1], [0, 6]]
    assert found.left_out == 2
    assert found.agreement == pytest.approx(13 / 14)
    assert found.matrix.sum(axis=1) == pytest.approx([1, 1])


def test_kappa_is_that_of_another_package() -> None:
    rng = np.random.default_rng(0)
    people = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1]).tolist()
    judge = [
        v if rng.random() < 0.7 else str(rng.choice(["a", "b", "c"])) for v in people
    ]
    found = Confusion.of(people, judge, ["a", "b", "c"])
    assert found.kappa == pytest.approx(
        cohens_kappa(found.counts, return_results=False), abs=1e-12
    )


def test_a_matrix_that_cannot_be_used_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError, match="'b'"):
        Confusion(("a", "b"), np.array([[9.0, 1.0], [1.0, 2.0]]))
    with pytest.raises(SettingsError, match="depends"):
        Confusion(("a", "b"), np.array([[50.0, 50.0], [52.0, 48.0]]))
    with pytest.raises(SettingsError, match="one of the judge for each"):
        Confusion.of(["a"], [], ["a", "b"])


def test_a_judge_that_errs_alike_about_all_groups_is_rarely_called_unlike() -> None:
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(400):
        tables = [
            rng.multinomial([60, 40], [[0.9, 0.1], [0.2, 0.8]]).astype(float)
            for _ in "xyz"
        ]
        called += unlike([Confusion(("a", "b"), t) for t in tables]) < 0.05
    assert 0.02 <= called / 400 <= 0.09
