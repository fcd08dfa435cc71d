"""The bound that a run reports."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.contexts import ContextSet
from clinometer.models import WordScores
from clinometer.runs.scores import CellGrid, PreferenceTable
from clinometer.topics import load_topic


@pytest.mark.parametrize(
    ("coverage", "skipped", "bound"),
    [(0.5, 0.0, 0.0), (0.5, 0.001, 0.002), (0.001, 0.5, 1.0), (0.0, 0.1, 1.0)],
)
def test_the_bound_is_skipped_over_covered_probability(
    coverage: float, skipped: float, bound: float
) -> None:
    topic = load_topic("gender").select(["nurse"])
    grid = CellGrid(topic, ContextSet("one", ["The [X] said that [Y]"], [1]), 1)
    table = PreferenceTable(grid, np.ones((len(topic.words), 2)))
    with np.errstate(divide="ignore"):
        covered = np.log([coverage])
    scores = WordScores(
        np.full((1, len(topic.words)), -5.0), covered, np.array([skipped])
    )
    table.add(np.array([0]), scores)
    assert table.bounds() == pytest.approx(np.array([[bound]]))
