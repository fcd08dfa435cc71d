"""Risks from a judge's categories, as people would have assigned them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from clinometer.errors import SettingsError
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import report_of
from clinometer.measure.risk import RiskReport
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.intervals.reach import normal_reach

# --- How often a judge says what people say ------------------------------------------------------


LEAST_LABELS = 5
"""Replies of each category, by people, that a matrix needs."""

WEAKEST = 0.1
"""The least singular value of a matrix that can be inverted with any use."""


@dataclass(frozen=True, eq=False)
class Confusion:
    """Replies by people's category (rows) and the judge's (columns).

    categories   K of them
    counts       [K, K]
    left_out     labelled replies that people or judge put into no category
    """

    categories: tuple[str, ...]
    counts: FloatArray
    left_out: int = 0

    def __post_init__(self) -> None:
        """Raise where the matrix could not be used."""
        K = len(self.categories)
        if self.counts.shape != (K, K):
            raise SettingsError(
                f"confusion: expected [{K}, {K}], found {self.counts.shape}"
            )
        for name, n in zip(
            self.categories, self.counts.sum(axis=1).tolist(), strict=True
        ):
            if n < LEAST_LABELS:
                raise SettingsError(
                    f"labels: expected at least {LEAST_LABELS} replies that people call {name!r}, "
                    f"found {n:g}; label more replies"
                )
        if (least := float(np.linalg.svd(self.matrix, compute_uv=False)[-1])) < WEAKEST:
            raise SettingsError(
                f"judge: its category hardly depends on people's (least singular value "
                f"{least:.2f} of their matrix, at least {WEAKEST:g} needed): use another judge"
            )

    @classmethod
    def of(
        cls, people: Sequence[str], judge: Sequence[str], categories: Sequence[str]
    ) -> Confusion:
        """Count pairs of labels; what is no category on either side is left out.

        >>> people, judge = ["yes"] * 10 + ["no"] * 10, ["yes"] * 11 + ["no"] * 9
        >>> Confusion.of(people, judge, ["yes", "no"]).matrix.round(2).tolist()
        [[1.0, 0.0], [0.1, 0.9]]
        """
        if len(people) != len(judge):
            raise SettingsError(
                f"labels: expected one of the judge for each of people, found {len(judge)} for "
                f"{len(people)}"
            )
        place = {name: i for i, name in enumerate(categories)}
        counts = np.zeros((len(place), len(place)))
        known = [
            (a, b)
            for a, b in zip(people, judge, strict=True)
            if a in place and b in place
        ]
        for a, b in known:
            counts[place[a], place[b]] += 1
        return cls(tuple(categories), counts, len(people) - len(known))

    @property
    def matrix(self) -> FloatArray:
        """[K, K]: probability of the judge's category (column) given people's (row)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def agreement(self) -> float:
        """Share of replies on which both say the same."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where either side has one category only."""
        shares = self.counts / self.counts.sum()
        chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
        return None if chance > 1 - 1e-12 else (self.agreement - chance) / (1 - chance)

    def like(self, n: int) -> Iterator[FloatArray]:
        """n matrices [K, K] that could have given these counts. A share of 0 is not certain: a
        label is added to each row, spread evenly."""
        rng, K = np.random.default_rng(0), len(self.categories)
        while n:
            made = np.stack([rng.dirichlet(row + 1.0 / K) for row in self.counts])
            if np.linalg.svd(made, compute_uv=False)[-1] >= WEAKEST / 2:
                n -= 1
                yield made


def unlike(parts: Sequence[Confusion]) -> float:
    """p-value of the same errors in all parts (groups of people, say): a likelihood ratio.

    A small one means that one matrix for all is wrong: the judge errs more about some.

    >>> fair = Confusion(("a", "b"), np.array([[90.0, 10.0], [10.0, 90.0]]))
    >>> hard = Confusion(("a", "b"), np.array([[60.0, 40.0], [10.0, 90.0]]))
    >>> unlike([fair, fair]), round(unlike([fair, hard]), 6)
    (1.0, 3e-06)
    """
    tables = np.stack([one.counts for one in parts])
    pooled = tables.sum(axis=0)
    expected = (
        pooled / pooled.sum(axis=1, keepdims=True) * tables.sum(axis=2, keepdims=True)
    )
    seen = tables > 0
    ratio = 2 * float((tables[seen] * np.log(tables[seen] / expected[seen])).sum())
    free = int((np.count_nonzero(pooled, axis=1) - 1).sum()) * (len(parts) - 1)
    return 1.0 if free == 0 else float(chdtrc(free, max(ratio, 0.0)))


# --- Risks from a judge's categories, as people would have assigned them -------------------------


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
    """The risks that people's categories would give, with intervals that hold both errors.

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
    unmix = np.asarray(np.linalg.inv(confusion.matrix), dtype=np.float64)
    evidence = Evidence.of(grid, clusters=clusters, samples=samples, unmix=unmix)
    found = []
    for matrix in confusion.like(MATRICES):
        moved = Evidence.of(
            grid, clusters=clusters, unmix=np.asarray(np.linalg.inv(matrix))
        )
        r = (moved.weights * moved.high).sum(axis=0)
        bias = grid.criterion(moved.mean)
        parts = np.stack([r, bias, r - bias])
        found.append(np.append(parts, parts @ moved.groups[:, None], axis=1))
    arms = normal_reach(np.std(found, axis=0), level=level)
    report = report_of(grid, evidence, level=level, arms=arms)
    summary = {
        name: replace(estimate, method=f"{estimate.method}, judge")
        for name, estimate in report.summary.items()
    }
    if clusters is not None:
        report = replace(report, n_eff=evidence.n_eff)
    return replace(report, summary=summary, mean_stereotype=evidence.mean)
