"""Kappa and alpha against independent packages, hand-made values and invariants."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pytest
from statsmodels.stats import inter_rater

from clinometer.reliability.beyond_chance import (
    Patterns,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    observed_agreement,
)

NEAR = 1e-9


def made(
    seed: int, *, items: int, annotators: int, categories: int, missing: float
) -> np.ndarray:
    """Judgements that agree more often than chance, with gaps."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(categories, size=items)
    guess = rng.integers(categories, size=(items, annotators))
    codes = np.where(rng.random((items, annotators)) < 0.6, truth[:, None], guess)
    codes[rng.random((items, annotators)) < missing] = -1
    codes[:categories, 0] = np.arange(categories)  # every category occurs, in a pair
    codes[:categories, 1] = np.arange(categories)
    return codes


def patterns_of(codes: np.ndarray, values: np.ndarray | None = None) -> Patterns:
    K = int(codes.max()) + 1
    return Patterns.of(codes, np.arange(K, dtype=float) if values is None else values)


def value(statistic: Any, patterns: Patterns, *args: Any, **kwargs: Any) -> float:
    return float(statistic(patterns, patterns.counts, *args, **kwargs))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_alpha_matches_the_krippendorff_package(seed: int, level: Any) -> None:
    codes = made(
        seed, items=80, annotators=2 + seed % 4, categories=2 + seed % 4, missing=0.25
    )
    values = np.sort(np.random.default_rng(seed).uniform(0.5, 9, size=codes.max() + 1))
    theirs = krippendorff.alpha(
        np.where(codes < 0, np.nan, values[codes]).T, level_of_measurement=level
    )
    ours = value(krippendorff_alpha, patterns_of(codes, values), level=level)
    assert ours == pytest.approx(theirs, abs=NEAR)


@pytest.mark.parametrize("seed", range(6))
def test_kappas_match_statsmodels(seed: int) -> None:
    """Three of five people judge each item, drawn anew: gaps, and Fleiss' own design."""
    rng = np.random.default_rng(seed)
    codes = made(seed, items=90, annotators=5, categories=4, missing=0.0)
    for row in codes:
        row[rng.permutation(5)[:2]] = -1
    patterns = patterns_of(codes)
    counts = np.stack([(codes == k).sum(axis=1) for k in range(4)], axis=1)
    theirs = inter_rater.fleiss_kappa(counts, method="fleiss")
    assert value(fleiss_kappa, patterns) == pytest.approx(theirs, abs=NEAR)
    for a, b in combinations(range(3), 2):
        both = codes[(codes[:, a] >= 0) & (codes[:, b] >= 0)]
        table = np.zeros((4, 4))
        np.add.at(table, (both[:, a], both[:, b]), 1)
        kappa = float(inter_rater.cohens_kappa(table, return_results=False))
        assert value(cohen_kappa, patterns, a, b) == pytest.approx(kappa, abs=NEAR)


@pytest.mark.parametrize("seed", range(4))
def test_unequal_numbers_of_judgements_match_a_slow_computation(seed: int) -> None:
    """Pairs counted one by one; no package takes unequal numbers for Fleiss."""
    codes = made(seed, items=40, annotators=5, categories=3, missing=0.4)
    agreements = []
    shares = []
    for row in codes:
        judgements = [int(code) for code in row if code >= 0]
        if judgements:
            shares.append([judgements.count(k) / len(judgements) for k in range(3)])
        if len(judgements) >= 2:
            pairs = combinations(judgements, 2)
            agreements.append(np.mean([first == second for first, second in pairs]))
    observed = np.mean(agreements)
    by_chance = (np.mean(shares, axis=0) ** 2).sum()
    kappa = (observed - by_chance) / (1 - by_chance)

    patterns = patterns_of(codes)
    assert value(observed_agreement, patterns) == pytest.approx(observed, abs=NEAR)
    assert value(fleiss_kappa, patterns) == pytest.approx(kappa, abs=NEAR)


def test_by_hand() -> None:
    # Two items, two people: yes yes, yes no. P = 1/2; shares 3/4, 1/4: P_e = 5/8;
    # kappa = (4/8 - 5/8) / (3/8) = -1/3. Alpha: D_o = 1/2, D_e = 2·3·1/(4·3) = 1/2: 0.
    patterns = patterns_of(np.array([[1, 1], [1, 0]]))
    assert value(fleiss_kappa, patterns) == pytest.approx(-1 / 3)
    assert value(krippendorff_alpha, patterns) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("statistic", [fleiss_kappa, krippendorff_alpha])
def test_extremes_and_category_names(statistic: Any) -> None:
    same = np.repeat(np.arange(3), 4)[:, None].repeat(3, axis=1)
    assert value(statistic, patterns_of(same)) == pytest.approx(1)
    codes = made(1, items=60, annotators=3, categories=3, missing=0.2)
    other = np.where(codes < 0, -1, np.array([2, 0, 1])[codes])
    assert value(statistic, patterns_of(other)) == pytest.approx(
        value(statistic, patterns_of(codes))
    )
    twice = np.concatenate(
        [codes, np.full((5, 3), -1)]
    )  # items nobody judged change nothing
    assert value(statistic, patterns_of(twice)) == pytest.approx(
        value(statistic, patterns_of(codes))
    )


def test_replicates_at_once_match_replicates_one_by_one() -> None:
    codes = made(3, items=50, annotators=3, categories=3, missing=0.3)
    patterns = patterns_of(codes)
    draws = np.random.default_rng(0).multinomial(50, patterns.counts / 50, size=7)
    for one, row in zip(
        krippendorff_alpha(patterns, draws, "interval"),
        draws,
        strict=True,
    ):
        again = patterns_of(np.repeat(patterns.codes, row, axis=0), patterns.values)
        assert one == pytest.approx(value(krippendorff_alpha, again, "interval"))
