"""Evidence: against plain loops, units, and replies that bracket J of a cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats
from tests.measure import plain_loops

from clinometer.errors import SettingsError
from clinometer.measure import read_preferences
from clinometer.measure.evidence import Evidence, reply_counts, thin
from clinometer.statistics.arrays import FloatArray


@pytest.mark.parametrize("criterion", ["ratio", "share", "points"])
def test_units_are_weighted_means_of_their_contexts(
    rng: np.random.Generator, criterion: str
) -> None:
    """Loops over cells, three contexts a cluster, one cell missing."""
    p = rng.dirichlet(np.ones(3), (4, 12))
    context_weights = rng.random(12)
    group_weights = rng.random(4)
    mask = np.ones((4, 12), bool)
    mask[1, 4] = False
    grid = read_preferences(
        p,
        context_weights=context_weights,
        group_weights=group_weights,
        mask=mask,
        criterion=criterion,
        categories=list("123"),
    )
    evidence = Evidence.of(grid, clusters=[c // 3 for c in range(12)])
    assert not evidence.sampled

    for x in range(4):
        w = [context_weights[c] if mask[x, c] else 0.0 for c in range(12)]
        s = [stereotype_of(p[x, c], criterion) for c in range(12)]
        J = [plain_loops.criterion_of(row, math.inf, criterion) for row in s]
        for unit in range(4):
            contexts = range(3 * unit, 3 * unit + 3)
            total = math.fsum(w[c] for c in contexts)
            assert evidence.weights[unit, x] == pytest.approx(total / math.fsum(w))
            for y in range(3):
                mean = math.fsum(w[c] * s[c][y] for c in contexts) / total
                assert evidence.s[unit, x, y] == pytest.approx(mean)
            mean_J = math.fsum(w[c] * J[c] for c in contexts) / total
            assert evidence.high[unit, x] == pytest.approx(mean_J)

    # The last column is of all groups: the mean over groups, by their weights.
    group_means = (evidence.weights * evidence.high).sum(axis=0)
    whole = group_means @ group_weights / group_weights.sum()
    columns = evidence.weights_with_whole * evidence.with_whole(evidence.high)
    assert columns.sum(axis=0)[-1] == pytest.approx(whole)


def stereotype_of(p: FloatArray, criterion: str) -> list[float]:
    """Return s of one cell of three categories: p / (1/3) - 1, of at most 2, or p - 1/3."""
    if criterion == "ratio":
        return [(3 * float(v) - 1) / 2 for v in p]
    return [float(v) - 1 / 3 for v in p]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_replies_bracket_j_of_a_cell_on_average(n: int) -> None:
    """Over all outcomes of n replies with probabilities (0.5, 0.3, 0.2), enumerated."""
    p = (0.5, 0.3, 0.2)
    # J is the largest of (p / (1/3) - 1) / 2, that is 3/2 (0.5 - 1/3).
    J = 3 / 2 * (0.5 - 1 / 3)
    outcomes = []
    probabilities = []
    for first in range(n + 1):
        for second in range(n + 1 - first):
            counts = (first, second, n - first - second)
            outcomes.append(np.array(counts) / n)
            probabilities.append(stats.multinomial.pmf(counts, n, p))
    # The splits of a cell are random: each outcome is met in 40 contexts.
    cells = np.repeat(np.array(outcomes)[:, None], 40, axis=1)
    evidence = Evidence.of(read_preferences(cells), samples=n)
    low = evidence.low.mean(axis=0) @ np.array(probabilities)
    high = evidence.high.mean(axis=0) @ np.array(probabilities)
    assert low <= J + 0.01 <= high
    assert low < high


def test_dice_alone_are_no_risk_in_the_lower_end() -> None:
    """Everybody is treated alike on a scale of 0 to 100: the plug-in sees dice, the lower end
    none."""
    rng = np.random.default_rng(0)
    p = np.exp(-0.5 * ((np.arange(101) - 60) / 15) ** 2)
    counts = rng.multinomial(5, p / p.sum(), (8, 60))
    grid = read_preferences(
        counts / 5,
        reference="group-mean",
        criterion="points",
        categories=list(map(str, range(101))),
    )
    found = Evidence.of(grid, samples=5)
    assert found.high.mean() > 0.03
    assert abs(found.low.mean()) < 0.006


def test_one_reply_takes_the_direction_of_the_other_contexts() -> None:
    """Three contexts with one reply each: yes, yes, no. Next to the other two, the first leans to
    yes (0 to 1 between them: to neither) ..."""
    grid = read_preferences(np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]))
    found = Evidence.of(grid, samples=1)
    assert found.high[:, 0].tolist() == [1.0, 1.0, 1.0]
    # ... so do yes and no for the first two, and yes twice against the third.
    assert found.low[:, 0].tolist() == [0.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("samples", "words"),
    [(0, "at least 1"), (2.5, "whole"), (3, "whole numbers"), ([[1, 2]], "shape")],
)
def test_numbers_of_replies_that_do_not_fit_are_refused(
    samples: ArrayLike, words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        reply_counts(np.array([[[0.5, 0.5]]]), samples)


def test_thinning_takes_as_many_as_asked_of_each_kind_in_proportion() -> None:
    rng = np.random.default_rng(0)
    counts = np.tile([[6, 3, 1], [0, 4, 0]], (4000, 1, 1))
    left = np.broadcast_to([5, 2], (4000, 2)).copy()
    found = thin(counts, left, rng)
    assert (found.sum(axis=-1) == left).all()
    assert (found <= counts).all()
    assert found.mean(axis=0)[0] == pytest.approx([3.0, 1.5, 0.5], abs=0.06)
