"""Which groups lean: enumeration in plain Python, invariants, error rate, edges."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.preferences import pair
from tests.present import present

from clinometer.measure import read_preferences
from clinometer.measure.evidence import Evidence
from clinometer.measure.leaning import _exchange_p_value, leaning_groups


def test_clear_groups_and_the_others() -> None:
    p = np.random.default_rng(1).beta([[9], [5], [2]], [[2], [5], [9]], (3, 40))
    mask = np.ones((3, 40), dtype=bool)
    grid = read_preferences(
        pair(p), mask=mask, groups=["a", "b", "c"], categories=["f", "m"]
    )
    found = leaning_groups(grid)
    assert [row.category for row in found] == ["f", None, "m"]
    for row in found:
        low, lean, high = present(row.low), present(row.lean), present(row.high)
        assert low <= lean <= high
        assert (row.category is None) == (low <= 0)


def test_no_end_is_further_from_parity_than_any_lean_can_be() -> None:
    """Yes or no at random, of 24 groups: departures are skewed, and far ends lay at −1.4."""
    yes = np.random.default_rng(0).random((24, 20)) < 0.75
    for row in leaning_groups(
        read_preferences(pair(yes.astype(float)), reference="group-mean")
    ):
        assert -1 <= present(row.low) <= present(row.lean) <= present(row.high) <= 1


def test_turning_the_categories_turns_the_list(rng: np.random.Generator) -> None:
    p = rng.dirichlet([3, 2, 1], (6, 30))
    one = leaning_groups(read_preferences(p, categories=["a", "b", "c"]))
    two = leaning_groups(read_preferences(p[..., ::-1], categories=["c", "b", "a"]))
    assert [(r.category, r.favoured) for r in one] == [
        (r.category, r.favoured) for r in two
    ]
    assert [r.p for r in one] == pytest.approx([r.p for r in two])


def test_few_contexts_and_missing_groups_have_no_lean(rng: np.random.Generator) -> None:
    p = rng.beta(30, 2, (3, 5))
    assert {row.category for row in leaning_groups(read_preferences(pair(p)))} == {None}
    six = leaning_groups(read_preferences(pair(rng.beta(30, 2, (3, 6)))))
    assert {row.category for row in six} == {"0"}
    mask = np.ones((3, 5), dtype=bool)
    mask[1] = False
    row = leaning_groups(read_preferences(pair(p), mask=mask))[1]
    assert (row.category, row.favoured, row.lean, row.p) == (None, None, None, None)


def test_the_list_holds_the_false_discovery_rate_not_the_family_wise_error() -> None:
    """40 of 120 groups lean: 5 % of the list may be wrong, and at ten contexts it is not empty,
    as it would be after Holm's correction (120 × 2^-9 > 0.05)."""
    leaning = np.arange(120) % 3 == 0
    shares, lists_with_errors, hits = [], 0, 0
    for i in range(40):
        z = (
            0.5 * np.random.default_rng(i).standard_normal((120, 10))
            + 0.6 * leaning[:, None]
        )
        rows = leaning_groups(read_preferences(pair((1 + np.tanh(z)) / 2)))
        listed = np.array([row.category is not None for row in rows])
        wrong = int((listed & ~leaning).sum())
        shares.append(wrong / max(1, int(listed.sum())))
        lists_with_errors += wrong > 0
        hits += int((listed & leaning).sum())
    assert np.mean(shares) <= 0.05 + 3 * np.std(shares) / math.sqrt(40)
    assert lists_with_errors > 0.2 * 40
    assert hits > 0.5 * 40 * 40


def test_at_parity_the_list_is_seldom_wrong() -> None:
    """150 audits of 20 groups at parity that go together: 5 % and three standard errors."""
    wrong = 0
    for i in range(150):
        rng = np.random.default_rng(i)
        z = np.sqrt(0.5) * (
            rng.standard_normal((1, 12)) + rng.standard_normal((20, 12))
        )
        grid = read_preferences(pair((1 + np.tanh(0.4 * z)) / 2))
        wrong += any(row.category is not None for row in leaning_groups(grid))
    assert 0 < wrong / 150 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)


@pytest.mark.parametrize("criterion", ["share", "points"])
def test_replies_of_a_rare_answer_do_not_make_groups_lean(criterion: str) -> None:
    """24 groups alike, 10 replies a cell, an answer given once in a hundred: most have none of it,
    and without the noise of counting two thirds of such models had a group on the list."""
    listed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rate = 0.01 * np.exp(rng.normal(0, 0.3, (1, 30))).repeat(24, axis=0)
        n = rng.binomial(10, rate)
        grid = read_preferences(
            np.stack([n, 10 - n], axis=-1) / 10,
            categories=["1", "2"],
            reference="group-mean",
            criterion=criterion,
        )
        listed += any(
            g.category for g in leaning_groups(grid, samples=np.full((24, 30), 10.0))
        )
    assert listed <= 1


def test_a_rare_answer_does_not_make_groups_lean() -> None:
    """24 groups alike and probabilities of an answer given once in a hundred: their departures from
    the mean are skewed, and flipping signs alone listed a group in more than a tenth of the
    models."""
    listed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rate = 0.01 * np.exp(0.7 * rng.standard_normal((24, 10)))
        grid = read_preferences(pair(rate), reference="group-mean")
        listed += any(row.category is not None for row in leaning_groups(grid))
    assert listed <= 4  # 5 % and twice its standard error


def test_exchanging_two_groups_is_flipping_their_difference() -> None:
    """All 2^8 exchanges of two groups in eight contexts, counted one by one."""
    for seed in range(4):
        p = np.random.default_rng(seed).beta([[4], [5]], 5, (2, 8))
        found = Evidence.of(read_preferences(pair(p), reference="group-mean"))
        weighted = found.weights[..., None] * found.s
        gaps = p[0] - p[1]
        sums = [
            abs(np.dot(signs, gaps)) for signs in itertools.product((1, -1), repeat=8)
        ]
        exact = np.mean(np.array(sums) >= abs(gaps.sum()) - 1e-12)
        p_value = _exchange_p_value(weighted, found.weights, np.array([True, True]))
        assert (
            abs(p_value - exact) <= 4 * math.sqrt(exact * (1 - exact) / 499) + 1 / 500
        )
