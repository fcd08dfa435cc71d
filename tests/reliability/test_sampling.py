"""Intervals and ranks of single statements: by hand, and in simulations with a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.present import loaded
from tests.processes import ROOT

from clinometer.reliability.sampling import (
    SamplingDistribution,
    _distance_of_halves,
    model_spread,
)
from clinometer.reliability.score import context_variance
from clinometer.statistics.arrays import FloatArray


def distribution(tau: FloatArray, versions: FloatArray) -> SamplingDistribution:
    """Of one model."""
    return SamplingDistribution.of(tau[None], versions[None])


def test_intervals_by_hand() -> None:
    """Three statements alone: c² is drawn towards 2, the value of normal changes, by 60 versions;
    the law of the mean is gamma with shape n / (c² (1 + 0.5/n))."""
    rng = np.random.default_rng(0)
    tau = np.array([3.0, 2.0, 1.0])
    versions = np.abs(tau[:, None] + rng.normal(size=(3, 30)))
    versions[1, 5:] = np.nan
    versions[2, 1:] = np.nan
    low, high = distribution(tau, versions).intervals(level=0.9)
    for i, n in enumerate((30, 5)):
        squares = 100 * (versions[i, :n] - tau[i]) ** 2 / tau[i]
        mean = squares.mean()
        sample_c2 = squares.var(ddof=1) / mean**2
        c2 = (60 * 2 + (n - 1) * sample_c2) / (60 + n - 1)
        law = stats.gamma(n / (c2 * (1 + 0.5 / n)))
        assert low[i] == pytest.approx(mean * law.mean() / law.ppf(0.95))
        assert high[i] == pytest.approx(mean * law.mean() / law.ppf(0.05))
    assert np.isnan([low[2], high[2]]).all()  # one version has no spread


def test_versions_that_change_nothing_have_no_width() -> None:
    law = distribution(np.array([2.0]), np.full((1, 4), 2.0))
    assert [float(e[0]) for e in law.intervals(level=0.95)] == [0.0, 0.0]
    assert np.isnan(law.ranks(level=0.95).rank).all()


@pytest.mark.filterwarnings("error")
def test_halves_that_both_change_nothing_are_equally_large() -> None:
    """The third of three versions alone changes something: it is in neither half, or in one."""
    squares = np.array([[0.0, 0.0, 5.0]] * 200)
    distances = _distance_of_halves(squares, np.random.default_rng(0))
    assert set(distances) == {0.0, np.inf}
    assert np.mean(distances == 0) == pytest.approx(1 / 3, abs=4 * 0.034)


def test_statements_of_which_one_version_differs_leave_a_run_its_intervals() -> None:
    rng = np.random.default_rng(0)
    versions = 20.0 + rng.normal(size=(30, 20))
    versions[:3] = np.nan
    versions[:3, :3] = [20.0, 20.0, 21.0]
    law = distribution(np.full(30, 20.0), versions)
    low, high = law.intervals(level=0.95)
    assert law.usable.all()
    assert (low < law.mean).all()
    assert (law.mean < high).all()
    assert np.isfinite(high).all()


@pytest.mark.parametrize("n", [4, 12, 20, 40])
@pytest.mark.parametrize(
    ("law", "missing"),
    [
        *((law, 0.0) for law in ("normal", "normal, shifted", "Student, 5 degrees")),
        *(("two normal laws", 0.0), ("exponential", 0.0), ("exponential", 0.15)),
    ],
)
def test_intervals_cover_the_truth(n: int, law: str, missing: float) -> None:
    """Statements of a run vary in their scale, as benchmarks/statement_intervals.py draws them."""
    worlds, rng = (
        loaded(ROOT / "benchmarks" / "statement_intervals.py"),
        np.random.default_rng(1),
    )
    drawn, square = worlds.changes(law, 3000, n, rng)
    drawn[rng.random(drawn.shape) < missing] = np.nan
    assert 0.93 <= worlds.covered(drawn, square) <= 0.975


def model_versions(
    rng: np.random.Generator, n: int, models: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Changes that all models share, and their own, whose size differs by model and statement:
    tau [M, S], versions [M, S, n], and the expected cv over sets of as many models [S]."""
    many, own, size = 800, 0.8, 0.6
    shared = np.exp(rng.normal(0, 0.4, many))
    scale = own * np.exp(
        rng.normal(-(size**2), size, (models, many))
    )  # E scale² = own²
    tau = np.full((models, many), 20.0)
    changes = shared[:, None] * rng.normal(size=(many, n))
    changes = changes + scale[..., None] * rng.normal(size=(models, many, n))
    truth = 100 / 20 * (shared**2 + own**2 / models)
    return tau, tau[..., None] + changes, truth


@pytest.mark.parametrize(("n", "models"), [(12, 2), (40, 2), (40, 3)])
def test_intervals_cover_other_models(n: int, models: int) -> None:
    rng = np.random.default_rng(2)
    own, by_model, truth = model_versions(rng, n, models)
    law = SamplingDistribution.of(own, by_model)
    assert law.models > 0
    low, high = law.intervals(level=0.95)
    covered = np.mean((low <= truth) & (high >= truth))
    assert 0.93 <= covered <= 0.99
    alone = distribution(own.mean(axis=0), by_model.mean(axis=0)).intervals(level=0.95)
    assert (high >= alone[1] - 1e-12).all()
    assert model_spread(own[:1], by_model[:1]) == 0.0


def test_ranks_cover_the_true_ranks() -> None:
    rng = np.random.default_rng(3)
    size = np.exp(rng.normal(0, 0.5, 200))
    tau = np.full(200, 20.0)
    versions = tau[:, None] + size[:, None] * rng.normal(size=(200, 20))
    ranks = distribution(tau, versions).ranks(level=0.95)
    assert sorted(ranks.rank) == list(range(1, 201))
    assert ranks.rank[np.argmax(context_variance(tau, versions))] == 1
    truth = stats.rankdata(-size)
    assert 0.9 < np.mean((ranks.low <= truth) & (truth <= ranks.high)) <= 1
