"""Evidence: against plain loops, units, and replies that bracket J of a cell."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import ArrayLike
from tests.measure import plain_loops

from clinometer.errors import SettingsError
from clinometer.measure import read_preferences
from clinometer.measure.evidence import Evidence, reply_counts, thin


@pytest.mark.parametrize("criterion", ["ratio", "share", "points"])
def test_units_are_weighted_means_of_their_contexts(
    rng: np.random.Generator, criterion: str
) -> None:
    """Loops over cells, three contexts a cluster, one cell missing."""
    p, w, g = rng.dirichlet(np.ones(3), (4, 12)), rng.random(12), rng.random(4)
    mask = np.ones((4, 12), bool)
    mask[1, 4] = False
    grid = read_preferences(
        p,
        context_weights=w,
        group_weights=g,
        mask=mask,
        criterion=criterion,
        categories=list("123"),
    )
    labels = [c // 3 for c in range(12)]
    found = Evidence.of(grid, clusters=labels)
    for x, u in itertools.product(range(4), range(4)):
        cells = [c for c in range(12) if labels[c] == u and mask[x, c]]
        total = math.fsum(w[c] for c in cells)
        every = math.fsum(w[c] for c in range(12) if mask[x, c])
        assert found.weights[u, x] == pytest.approx(total / every)
        s = [[(v * 3 - 1) / 2 if criterion == "ratio" else v - 1 / 3 for v in p[x, c]]
             for c in cells]  # fmt: skip
        for y in range(3):
            mean = (
                math.fsum(w[c] * row[y] for c, row in zip(cells, s, strict=True))
                / total
            )
            assert found.s[u, x, y] == pytest.approx(mean)
        J = math.fsum(
            w[c] * plain_loops.criterion_of(row, math.inf, criterion)
            for c, row in zip(cells, s, strict=True)
        )
        assert found.high[u, x] == pytest.approx(J / total)
    assert not found.sampled
    values, weights = found.with_whole(found.high), found.weights_with_whole
    by_group = (found.weights * found.high).sum(axis=0)
    assert (weights * values).sum(axis=0)[-1] == pytest.approx(by_group @ (g / g.sum()))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_replies_bracket_j_of_a_cell_on_average(n: int) -> None:
    """Over all outcomes of n replies with probabilities (0.5, 0.3, 0.2), enumerated."""
    p, star = np.array([0.5, 0.3, 0.2]), 1 / 3
    truth = max(p - star) * 3 / 2
    cells, mass = [], []
    for a in range(n + 1):
        for b in range(n + 1 - a):
            counts = [a, b, n - a - b]
            ways = math.factorial(n) / math.prod(math.factorial(k) for k in counts)
            cells.append(np.array(counts) / n)
            mass.append(ways * math.prod(q**k for q, k in zip(p, counts, strict=True)))
    often = np.repeat(
        np.array(cells)[:, None], 40, axis=1
    )  # the splits of a cell are random
    found = Evidence.of(read_preferences(often), samples=n)
    low, high = (part.mean(axis=0) @ np.array(mass) for part in (found.low, found.high))
    assert low <= truth + 0.01 <= high
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
