"""Roots against scipy's own."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from clinometer.measure.intervals import crossing, solved


def test_solved_finds_where_a_rising_share_reaches_a_tail() -> None:
    scale = np.array([0.5, 2.0])
    found = solved(lambda x: special.ndtr(x / scale), 0.025, np.array([-20.0, -20.0]))
    np.testing.assert_allclose(found, scale * special.ndtri(0.025), atol=1e-9)


def test_crossing_is_where_straight_lines_reach_zero() -> None:
    truth = np.linspace(0, 2, 9)[:, None]
    values = truth**3 - 2.0
    line = optimize.brentq(lambda x: np.interp(x, truth[:, 0], values[:, 0]), 0, 2)
    np.testing.assert_allclose(crossing(truth, values), [line])


def test_crossing_stays_within_the_grid() -> None:
    truth = np.array([[0.0], [1.0]])
    assert crossing(truth, np.array([[-2.0], [-1.0]])) == [1.0]
    assert crossing(truth, np.array([[1.0], [2.0]])) == [0.0]
