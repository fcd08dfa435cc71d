"""The scores that a run's folder stores: read again, under the same or another count of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import RunError
from clinometer.measure import Preferences, preference
from clinometer.models import WordScores
from clinometer.runs.folder.folder import RunFolder
from clinometer.statistics.arrays import FloatArray

if TYPE_CHECKING:
    from clinometer.runs.run import Run


def has_scores(run: Run) -> bool:
    """Whether a run has stored scores of words: reference models and runs in memory have none."""
    return run.path is not None and run.record.words is not None


def stored_cells(
    run: Run,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], WordScores]]:
    """Yield group [n], context [n] and scores of the stored cells, part by part.

    Log-probabilities [n,V] are the float32 that they are stored as.
    """
    words = run.record.scored_words.words
    if run.path is None:
        raise RunError(f"{run.model}: the run has no stored scores of words")
    X, C = run.preferences.values.shape[:2]
    n_cells = 0
    parts = RunFolder(run.path).read_scores(words=len(words), cells=X * C, repair=False)
    for cells, scores in parts:
        n_cells += len(cells)
        yield cells // C, cells % C, scores
    if n_cells != X * C:
        raise RunError(
            f"{run.path}: expected the scores of {X * C} cells, found {n_cells}; the audit's "
            "command scores the others again"
        )


def recounted(run: Run, counts: Sequence[FloatArray]) -> list[Preferences]:
    """Return the preferences of a run under each of several counts of its words, in one reading."""
    X, C, K = run.preferences.values.shape
    values = [np.full((X, C, K), np.nan) for _ in counts]
    coverage = [np.zeros((X, C)) for _ in counts]
    for x, c, scores in stored_cells(run):
        for i, count in enumerate(counts):
            cells = preference(scores.log_probs, count)
            values[i][x, c] = cells.p
            coverage[i][x, c] = np.exp(cells.log_coverage)
    return [
        replace(run.preferences, values=p, coverage=covered)
        for p, covered in zip(values, coverage, strict=True)
    ]
