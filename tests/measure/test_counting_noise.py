"""Answers left out at random."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.measure.counting_noise import LONG, _Answers, thin
from clinometer.measure.grid import read_preferences


@pytest.mark.parametrize("K", [3, LONG + 1, 101])
def test_cells_may_have_unequal_numbers_of_answers(K: int, rng: np.random.Generator) -> None:
    m = np.array([2, 5, 5, 9])
    counts = rng.multinomial(m, np.full(K, 1 / K))
    mean = np.zeros(counts.shape)
    for _ in range(2000):
        some = thin(counts, 2, rng)
        assert (some.sum(axis=1) == 2).all()
        assert (some <= counts).all()
        mean += some / 2000
    # a count of two answers has a variance of at most 2/4: five standard errors
    assert mean == pytest.approx(2 * counts / m[:, None], abs=5 * np.sqrt(0.5 / 2000))


def test_the_reference_of_the_answers_is_that_of_the_grid(rng: np.random.Generator) -> None:
    """Made of all groups of a context again, also where cells and a whole context are missing."""
    p = rng.multinomial(5, np.full(3, 1 / 3), size=(4, 6)) / 5
    mask = rng.random((4, 6)) < 0.7
    mask[0], mask[:, 3] = True, False
    grid = read_preferences(p, reference="group-mean", mask=mask)
    answers = _Answers.of(grid, 5)
    shares = answers.counts / 5
    J = grid.criterion
    expected = J(J.stereotypes(shares, answers.star))
    assert answers.risk(np.tile(shares, (3, 1))) == pytest.approx(np.tile(expected, 3))
