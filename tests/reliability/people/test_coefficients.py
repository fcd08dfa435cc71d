"""Agreement statistics against independent packages, hand-made values and invariants."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pytest
from statsmodels.stats import inter_rater

from clinometer.reliability.people import coefficients as chance
from clinometer.reliability.people.coefficients import Sums

NEAR = 1e-9


def made(seed: int, *, items: int, annotators: int, categories: int, missing: float) -> np.ndarray:
    """Judgements that agree more often than chance, with gaps."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(categories, size=items)
    guess = rng.integers(categories, size=(items, annotators))
    codes = np.where(rng.random((items, annotators)) < 0.6, truth[:, None], guess)
    codes[rng.random((items, annotators)) < missing] = -1
    codes[:categories, 0] = np.arange(categories)  # every category occurs, in a pair
    codes[:categories, 1] = np.arange(categories)
    return codes


def sums_of(codes: np.ndarray, values: np.ndarray | None = None) -> Sums:
    K = int(codes.max()) + 1
    return Sums.of(codes, np.arange(K, dtype=float) if values is None else values)


def value(statistic: Any, sums: Sums, *args: Any, **kwargs: Any) -> float:
    return float(statistic(sums, sums.counts, *args, **kwargs))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_alpha_matches_the_krippendorff_package(seed: int, level: Any) -> None:
    codes = made(seed, items=80, annotators=2 + seed % 4, categories=2 + seed % 4, missing=0.25)
    values = np.sort(np.random.default_rng(seed).uniform(0.5, 9, size=codes.max() + 1))
    theirs = krippendorff.alpha(
        np.where(codes < 0, np.nan, values[codes]).T, level_of_measurement=level
    )
    ours = value(chance.krippendorff_alpha, sums_of(codes, values), level=level)
    assert ours == pytest.approx(theirs, abs=NEAR)


@pytest.mark.parametrize("seed", range(6))
def test_fleiss_kappa_matches_statsmodels(seed: int) -> None:
    """Three of five people judge each item, drawn anew: gaps, and Fleiss' own design."""
    rng = np.random.default_rng(seed)
    codes = made(seed, items=90, annotators=5, categories=4, missing=0.0)
    for row in codes:
        row[rng.permutation(5)[:2]] = -1
    counts = np.stack([(codes == k).sum(axis=1) for k in range(4)], axis=1)
    theirs = inter_rater.fleiss_kappa(counts, method="fleiss")
    assert value(chance.fleiss_kappa, sums_of(codes)) == pytest.approx(theirs, abs=NEAR)


@pytest.mark.parametrize("seed", range(4))
def test_cohen_kappa_matches_statsmodels(seed: int) -> None:
    codes = made(seed, items=70, annotators=3, categories=4, missing=0.2)
    sums = sums_of(codes)
    for a, b in combinations(range(3), 2):
        both = codes[(codes[:, a] >= 0) & (codes[:, b] >= 0)]
        table = np.zeros((4, 4))
        np.add.at(table, (both[:, a], both[:, b]), 1)
        theirs = inter_rater.cohens_kappa(table, return_results=False)
        ours = value(chance.cohen_kappa, sums, a, b)
        assert ours == pytest.approx(float(theirs), abs=NEAR)


@pytest.mark.parametrize("seed", range(4))
def test_unequal_numbers_of_judgements_match_a_slow_computation(seed: int) -> None:
    """Pairs counted one by one; no package takes unequal numbers for Fleiss."""
    codes = made(seed, items=40, annotators=5, categories=3, missing=0.4)
    agree, shares = [], []
    for row in codes:
        given = [int(v) for v in row if v >= 0]
        pairs = list(combinations(given, 2))
        if pairs:
            agree.append(sum(x == y for x, y in pairs) / len(pairs))
        if given:
            shares.append([given.count(k) / len(given) for k in range(3)])
    observed, p = np.mean(agree), np.mean(shares, axis=0)
    by_chance = (p**2).sum()
    sums = sums_of(codes)
    assert value(chance.observed_agreement, sums) == pytest.approx(observed, abs=NEAR)
    kappa = (observed - by_chance) / (1 - by_chance)
    assert value(chance.fleiss_kappa, sums) == pytest.approx(kappa, abs=NEAR)


def test_by_hand() -> None:
    # Two items, two people: yes yes, yes no. P = 1/2; shares 3/4, 1/4: P_e = 5/8;
    # kappa = (4/8 - 5/8) / (3/8) = -1/3. Alpha: D_o = 1/2, D_e = 2·3·1/(4·3) = 1/2: 0.
    sums = sums_of(np.array([[1, 1], [1, 0]]))
    assert value(chance.fleiss_kappa, sums) == pytest.approx(-1 / 3)
    assert value(chance.krippendorff_alpha, sums) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("statistic", [chance.fleiss_kappa, chance.krippendorff_alpha])
def test_extremes_and_category_names(statistic: Any) -> None:
    same = np.repeat(np.arange(3), 4)[:, None].repeat(3, axis=1)
    assert value(statistic, sums_of(same)) == pytest.approx(1)
    codes = made(1, items=60, annotators=3, categories=3, missing=0.2)
    other = np.where(codes < 0, -1, np.array([2, 0, 1])[codes])
    assert value(statistic, sums_of(other)) == pytest.approx(value(statistic, sums_of(codes)))
    twice = np.concatenate([codes, np.full((5, 3), -1)])  # items nobody judged change nothing
    assert value(statistic, sums_of(twice)) == pytest.approx(value(statistic, sums_of(codes)))


def test_undefined_numbers_are_nan() -> None:
    alike = sums_of(np.ones((6, 3), dtype=int))
    assert np.isnan(value(chance.fleiss_kappa, alike))
    assert np.isnan(value(chance.krippendorff_alpha, alike))
    alone = sums_of(np.array([[1, -1], [-1, 0]]))
    assert np.isnan(value(chance.observed_agreement, alone))
    assert np.isnan(value(chance.cohen_kappa, alone, 0, 1))


def test_replicates_at_once_match_replicates_one_by_one() -> None:
    codes = made(3, items=50, annotators=3, categories=3, missing=0.3)
    sums = sums_of(codes)
    draws = np.random.default_rng(0).multinomial(50, sums.counts / 50, size=7)
    for one, row in zip(chance.krippendorff_alpha(sums, draws, "interval"), draws, strict=True):
        again = sums_of(np.repeat(sums.patterns, row, axis=0), sums.values)
        assert one == pytest.approx(value(chance.krippendorff_alpha, again, "interval"))
