"""Scoring rates and impact ratios against a count by hand and a plain loop, and as a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.command import Clinometer
from tests.preferences import labelled

from clinometer.measure import Preferences
from clinometer.report.tables import impact_ratios
from clinometer.runs import Run


def of(p: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> Preferences:
    return labelled(p, context_weights=weights, group_weights=groups)


def test_two_categories_by_hand() -> None:
    """Scores .6 .4 .7 .3 .2 .8 .55 .45, median .5: the first is above it in 3 of 4 cells."""
    p = np.array([[[0.6, 0.4], [0.7, 0.3]], [[0.2, 0.8], [0.55, 0.45]]])
    a, b = impact_ratios(of(p, np.ones(2), np.ones(2)))
    assert (a.scoring_rate, b.scoring_rate) == (0.75, 0.25)
    assert a.ratio == 1.0
    assert b.ratio == pytest.approx(1 / 3)


def test_whole_weights_are_repetitions(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(3), (4, 5))
    weights, groups = np.array([1, 2, 3, 1, 2]), np.array([1, 2, 1, 3])
    scores: list[list[float]] = [[], [], []]
    for x in range(4):
        for c in range(5):
            for k in range(3):
                scores[k] += [float(p[x, c, k])] * int(weights[c] * groups[x])
    middle = np.median(np.concatenate(scores))
    rates = [np.mean(np.array(one) > middle) for one in scores]
    found = impact_ratios(of(p, weights.astype(float), groups.astype(float)))
    np.testing.assert_allclose([r.scoring_rate for r in found], rates)
    np.testing.assert_allclose([r.ratio for r in found], np.array(rates) / max(rates))


def test_cells_that_are_missing_do_not_count_and_ties_give_nothing() -> None:
    p = np.array([[[0.6, 0.4], [np.nan, np.nan]]])
    assert [r.scoring_rate for r in impact_ratios(of(p, np.ones(2), np.ones(1)))] == [1.0, 0.0]
    assert impact_ratios(of(np.full((1, 3, 2), 0.5), np.ones(3), np.ones(1))) == []


def test_the_sheet_is_one_table(clinometer: Clinometer, small: Run, tmp_path: Path) -> None:
    for name in ("x.csv", "x.md"):
        done = clinometer("report", small.path, "--sheet", "nyc-ll144", "--out", tmp_path / name)
        assert done.status == 0, done.err
    table = pd.read_csv(tmp_path / "x-nyc-ll144.csv")
    assert list(table["impact_ratio"]) == [r.ratio for r in impact_ratios(small.preferences)]
    assert "no bias audit" in (tmp_path / "x.md").read_text(encoding="utf-8")
