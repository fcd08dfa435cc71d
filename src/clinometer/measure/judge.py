"""Risks from a judge's categories, as people would have assigned them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.measure.confusion import Confusion
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import report_of
from clinometer.measure.risk import RiskReport
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.intervals.reach import normal_reach

MATRICES = 80
"""Matrices like the judge's that show how far its error moves the risks."""


def calibrated_risks(
    grid: PreferenceGrid,
    confusion: Confusion,
    *,
    samples: FloatArray | None = None,
    level: float = 0.95,
    clusters: Sequence[object] | None = None,
) -> RiskReport:
    """Return the risks that people's categories would give, with intervals that hold both errors.

    A judge that calls a reply of category y by the name j with probability M_yj turns people's
    shares p into q = p M; so p = q M⁻¹ estimates people's shares without bias, and s is as linear
    in q as it is in p: the bracket holds as it is. The error of M moves all groups together;
    matrices drawn as the labels leave them open (Dirichlet) say how far, and that is added to each
    arm of an interval as to the error of a mean.

    Args:
        grid: shares of the judge's categories.
        confusion: of people and judge, over the grid's categories.
        samples: [X, C], replies behind each cell; None: q is exact (a judge's probabilities over
            all replies).
        level, clusters: as for `estimate_risks`.

    Returns:
        The risks. Cells are not cut to 0..1 before averaging: cutting would bias their mean.

    >>> from clinometer.measure.grid import read_preferences
    >>> people = np.random.default_rng(0).beta(5, 5, (20, 50))
    >>> matrix = np.array([[180.0, 20.0], [40.0, 160.0]])     # 10 % and 20 % errors
    >>> q = np.stack([people, 1 - people], axis=-1) @ (matrix / 200)
    >>> grid = read_preferences(q, categories=["a", "b"])
    >>> better = calibrated_risks(grid, Confusion(("a", "b"), matrix))
    >>> round(better.R.value, 2), better.R.method             # R of people's shares is 0.25
    (0.24, 'mean over contexts, judge')
    """
    inverse = np.asarray(np.linalg.inv(confusion.matrix), dtype=np.float64)
    evidence = Evidence.of(grid, clusters=clusters, samples=samples, unmix=inverse)
    replicates = []
    for matrix in confusion.like(MATRICES):
        replicate = Evidence.of(
            grid, clusters=clusters, unmix=np.asarray(np.linalg.inv(matrix))
        )
        replicates.append(_risks(replicate))
    arms = normal_reach(np.std(replicates, axis=0), level=level)
    report = report_of(grid, evidence, level=level, arms=arms)
    summary = {
        name: replace(estimate, method=f"{estimate.method}, judge")
        for name, estimate in report.summary.items()
    }
    if clusters is not None:
        report = replace(report, n_eff=evidence.n_eff)
    return replace(report, summary=summary, mean_stereotype=evidence.mean)


def _risks(evidence: Evidence) -> FloatArray:
    """Return r, r^b, r^v of evidence [3,X+1], with those of all groups in the last column."""
    r = (evidence.weights * evidence.high).sum(axis=0)
    r_bias = evidence.criterion(evidence.mean)
    by_group = np.stack([r, r_bias, r - r_bias])
    whole = by_group @ evidence.groups[:, None]
    return np.append(by_group, whole, axis=1)
