"""Ranks without pairs: the same as those of `compare`, and probabilities that fit together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.preferences import pair

from clinometer.errors import SettingsError
from clinometer.measure import compare
from clinometer.measure.comparison import rank_models


def models(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    first = rng.beta(6, 4, (n, 4, 40))
    return list(pair(first))


def test_ranks_are_those_of_compare(rng: np.random.Generator) -> None:
    p, w = models(rng, 4), 1 / np.arange(1, 41)
    found = rank_models(*p, context_weights=w, replicates=200, seed=3)
    direct = compare(*p, context_weights=w, seed=3)
    for rank in found.ranks:
        (same,) = (r for r in direct.ranks if (r.model, r.measure) == (rank.model, rank.measure))
        assert (same.value, same.rank) == (rank.value, rank.rank)
    assert found.n_eff == pytest.approx(direct.n_eff)


def test_the_chance_to_be_lower_fits_the_ranks(rng: np.random.Generator) -> None:
    """The expected rank is one plus the chances that the others are lower."""
    found = rank_models(*models(rng, 5), replicates=200)
    np.testing.assert_allclose(found.lower + np.swapaxes(found.lower, 1, 2), 1, atol=1e-12)
    for m, measure in enumerate(("R", "R_bias", "R_volatility")):
        for i, rank in enumerate(r for r in found.ranks if r.measure == measure):
            expected = np.dot(rank.probability, np.arange(1, 6))
            others = np.delete(found.lower[m, :, i], i).sum()
            assert expected == pytest.approx(1 + others, abs=1e-9)


def test_equal_models_tie_and_a_single_one_is_first(rng: np.random.Generator) -> None:
    (one,) = models(rng, 1)
    found = rank_models(one, one, replicates=100)
    assert [r.rank for r in found.ranks] == [1] * 6
    np.testing.assert_allclose(found.lower, 0.5)
    assert [r.probability for r in rank_models(one, replicates=100).ranks] == [(1.0,)] * 3


def test_models_of_other_shapes_are_refused(rng: np.random.Generator) -> None:
    a, b = models(rng, 2)
    with pytest.raises(SettingsError, match="same groups, contexts"):
        rank_models(a, b[:, :10])
    with pytest.raises(SettingsError, match="found none"):
        rank_models()
