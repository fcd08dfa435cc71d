"""Differences for a corpus: the error of occurrences, against a plain loop and by coverage."""

from __future__ import annotations

import numpy as np
import pytest
from tests.preferences import labelled, pair

from clinometer.measure import Preferences, decompose
from clinometer.measure.correction import Sampling
from clinometer.runs.align import compare_preferences


def drawn(up: np.ndarray, counts: np.ndarray) -> Preferences:
    weights = counts / counts.sum()
    return labelled(pair(up), context_weights=weights, sampling=Sampling.of_counts(counts))


def two(rng: np.random.Generator, C: int) -> tuple[np.ndarray, np.ndarray]:
    shared = rng.normal(0.6, 0.1, (5, C))
    return tuple(np.clip(shared + rng.normal(0, 0.05, (5, C)), 0, 1) for _ in range(2))  # type: ignore[return-value]


def test_it_is_the_spread_of_differences_over_resampled_occurrences() -> None:
    """A loop over multinomial counts, each decomposed alone; 800 of them (se 2.5 %)."""
    rng = np.random.default_rng(0)
    a, b = two(rng, 40)
    counts = rng.integers(1, 9, 40).astype(float)
    found = compare_preferences([drawn(a, counts), drawn(b, counts)], population="corpus")
    slow = []
    for _ in range(800):
        w = rng.multinomial(int(counts.sum()), counts / counts.sum()).astype(float)
        one, other = (decompose(pair(p), context_weights=w) for p in (a, b))
        slow.append(one.R.value - other.R.value)
    d = next(d for d in found.overall if d.measure == "R")
    assert d.value is not None
    assert d.low is not None
    assert (d.value - d.low) / 1.96 == pytest.approx(np.std(slow), rel=0.12)


def test_a_whole_set_has_no_error_for_itself() -> None:
    rng = np.random.default_rng(1)
    a, b = two(rng, 30)
    runs = [drawn(p, np.ones(30)) for p in (a, b)]
    exact = compare_preferences(runs, population="set").overall[0]
    similar = compare_preferences(runs, population="similar").overall[0]
    assert exact.value == similar.value
    assert (exact.low, exact.high, exact.p) == (None, None, None)
