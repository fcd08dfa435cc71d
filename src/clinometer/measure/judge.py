"""Risks from a judge's categories, as people would have assigned them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from clinometer.errors import SettingsError
from clinometer.measure.counting_noise import thin
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.intervals import ExtraError, estimate_grid
from clinometer.measure.results import RiskReport
from clinometer.statistics.arrays import FloatArray

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
            raise SettingsError(f"confusion: expected [{K}, {K}], found {self.counts.shape}")
        for name, n in zip(self.categories, self.counts.sum(axis=1).tolist(), strict=True):
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
        known = [(a, b) for a, b in zip(people, judge, strict=True) if a in place and b in place]
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

    def covariance(self, row: int) -> FloatArray:
        """[K, K]: of the shares of a row. A share of 0 is not certain: a label is added, spread
        evenly."""
        n = float(self.counts[row].sum())
        share = (self.counts[row] + 1.0 / len(self.categories)) / (n + 1.0)
        return np.asarray((np.diag(share) - np.outer(share, share)) / n)


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
    expected = pooled / pooled.sum(axis=1, keepdims=True) * tables.sum(axis=2, keepdims=True)
    seen = tables > 0
    ratio = 2 * float((tables[seen] * np.log(tables[seen] / expected[seen])).sum())
    free = int((np.count_nonzero(pooled, axis=1) - 1).sum()) * (len(parts) - 1)
    return 1.0 if free == 0 else float(chdtrc(free, max(ratio, 0.0)))


# --- J of what people would say, from what a judge said of a number of replies -------------------


Counts = NDArray[np.int64]

THINNINGS = 32
"""Random thinnings of a cell."""

MADE = 40_000
"""Cells to make from a fitted distribution, at most ten times the cells there are."""


def unmixed_criterion(
    counts: Counts, inverse: FloatArray, star: FloatArray, *, criterion: Criterion
) -> FloatArray:
    """J of cells [n], corrected for the counting noise of replies that a judge assigned.

    The shares of the judge times the inverse of its matrix are unbiased for people's shares, but
    scatter more, and J, being convex, counts scatter as risk. As for plain answers
    (`sampled_correction`) the curve of J over the number of replies m, of which m/3 and 2m/3 are
    had by leaving replies out, is followed to infinity; what it leaves is measured on replies
    made from a distribution like this one.

    Args:
        counts: [n, K], replies by the judge's category.
        inverse: [K, K], of the judge's matrix.
        star: [n, K], p*.
        criterion: J.

    Returns:
        [n]; single cells scatter, only their mean is of use.
    """
    rng = np.random.default_rng(0)

    def of_shares(shares: FloatArray, rows: NDArray[np.bool_] | slice) -> FloatArray:
        return criterion(criterion.stereotypes(shares @ inverse, star[rows]))

    def extrapolated(counts: Counts) -> FloatArray:
        m = counts.sum(axis=1)
        out = of_shares(counts / m[:, None], slice(None))
        for total in np.unique(m).tolist():
            rows = m == total
            nodes = sorted({max(1, round(total / 3)), max(1, round(2 * total / 3)), total})
            factors = np.linalg.inv(np.vander(1.0 / np.array(nodes), increasing=True))[0]
            value = factors[-1] * out[rows]
            for node, factor in zip(nodes[:-1], factors[:-1], strict=True):
                for _ in range(THINNINGS):
                    kept = thin(counts[rows], node, rng) / node
                    value = value + factor / THINNINGS * of_shares(kept, rows)
            out[rows] = value
        return out

    found = extrapolated(counts)
    left, rounds = 0.0, max(1, min(10, MADE // len(counts)))
    m = counts.sum(axis=1)
    matrix = np.linalg.inv(inverse)
    for _ in range(rounds):
        p = _like(counts, inverse, rng)
        exact = criterion(criterion.stereotypes(p, star))
        left += float((extrapolated(rng.multinomial(m, p @ matrix)) - exact).mean()) / rounds
    return found - left


def _like(counts: Counts, inverse: FloatArray, rng: np.random.Generator) -> FloatArray:
    """People's shares [n, K] from a Dirichlet distribution with the mean and, beyond the noise of
    counting, the spread that the judge's counts show."""
    m = counts.sum(axis=1)
    shares = counts / m[:, None]
    mean = shares.mean(axis=0)
    away = shares - mean
    noise = (np.diag(mean) - np.outer(mean, mean)) * float((1.0 / m).mean())
    between = (away.T @ away / len(counts) - noise) / max(1.0 - float((1.0 / m).mean()), 1e-9)
    spread = float(np.trace(inverse.T @ between @ inverse))
    center = np.maximum(mean @ inverse, 1e-3)
    center = center / center.sum()
    kept = min(max(spread / max(1.0 - float(center @ center), 1e-12), 0.002), 0.98)
    made = rng.standard_gamma(center * (1.0 / kept - 1.0), counts.shape) + 1e-300
    return np.asarray(made / made.sum(axis=1, keepdims=True))


# --- Risks from a judge's categories, as people would have assigned them -------------------------


STEP = 0.01
"""By how much a share of the judge's matrix is moved to see how far the risks move."""


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
    in q as it is in p. J is corrected for the noise of counting (`unmixed_criterion`). Intervals
    include the error of M: it moves the means of all groups together, as a context does, so its
    shifts, by the delta method, stand beside those of the contexts (`ExtraError`).

    Args:
        grid: shares of the judge's categories.
        confusion: of people and judge, over the grid's categories.
        samples: [X, C], replies behind each cell; None: q is exact (a judge's probabilities over
            all replies).
        level, clusters: as for `estimate_risks`.

    Returns:
        The risks; R and R_volatility are at least 0. Cells are not cut to 0..1 before averaging:
        that would bring the bias back.
    """
    cells = _Cells.of(grid, samples)
    inverse = _inverse(confusion.matrix)
    better = replace(grid, values=np.asarray(cells.q @ inverse))
    report, _ = estimate_grid(
        better,
        level=level,
        clusters=clusters,
        correct=False,
        criteria=cells.criteria(inverse),
        more=_label_errors(cells, confusion),
    )
    return _named(report)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a grid: shares q and counts [X, C, K], and what makes s of them."""

    q: FloatArray
    counts: NDArray[np.int64] | None
    seen: NDArray[np.bool_]
    weights: FloatArray
    star: FloatArray
    criterion: Criterion

    @classmethod
    def of(cls, grid: PreferenceGrid, samples: FloatArray | None) -> _Cells:
        X, C = grid.shape
        everything = slice(0, X), slice(0, C)
        q = grid.block(*everything)
        w = grid.cell_weights(*everything)
        total = w.sum(axis=1, keepdims=True)
        counts = None
        if samples is not None:
            counts = np.round(q * samples[..., None]).astype(np.int64)
        return cls(
            q=q,
            counts=counts,
            seen=w > 0,
            weights=w / np.where(total > 0, total, 1.0),
            star=np.broadcast_to(grid.reference, q.shape),
            criterion=grid.criterion,
        )

    def criteria(self, inverse: FloatArray) -> FloatArray:
        """J of the cells [C, X] without the noise of counting."""
        if self.counts is None:
            return np.asarray(self.criterion(self.stereotypes(self.q, inverse)).T)
        out = np.zeros(self.seen.shape)
        out[self.seen] = unmixed_criterion(
            self.counts[self.seen],
            inverse,
            self.star[self.seen],
            criterion=self.criterion,
        )
        return np.asarray(out.T)

    def stereotypes(self, q: FloatArray, inverse: FloatArray) -> FloatArray:
        """s [X, C, K] of people, from shares q of the judge."""
        return self.criterion.stereotypes(q @ inverse, self.star)

    @cached_property
    def steadied(self) -> FloatArray:
        """q drawn to the mean of its group, until it scatters as much as it would without the
        noise of counting."""
        if self.counts is None:
            return self.q
        mean = np.einsum("xc,xck->xk", self.weights, self.q)[:, None]
        w = self.weights * self.seen
        m = np.maximum(self.counts.sum(axis=-1), 2)
        whole = float((w[..., None] * (self.q - mean) ** 2).sum())
        noise = float((w[..., None] * self.q * (1 - self.q) / (m - 1)[..., None]).sum())
        kept = max(1.0 - noise / whole, 0.0) if whole > 0 else 0.0
        return np.asarray(mean + np.sqrt(kept) * (self.q - mean))

    def moments(self, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means of s [X, K] and of J [X] of the groups, for a matrix that is a little different."""
        s = self.stereotypes(self.steadied, inverse)
        risk = (self.weights * self.criterion(s)).sum(axis=1)
        return np.einsum("xc,xck->xk", self.weights, s), risk


def _label_errors(cells: _Cells, confusion: Confusion) -> ExtraError:
    """How far the means and risks of the groups move with each independent error of the matrix."""
    mean, risk = [], []
    for y in range(len(confusion.categories)):
        by_mean, by_risk = _slopes(cells, confusion.matrix, y)
        values, vectors = np.linalg.eigh(confusion.covariance(y))
        for size, way in zip(np.sqrt(np.maximum(values, 0.0)), vectors.T, strict=True):
            mean.append(np.einsum("j,jxk->xk", size * way, by_mean))
            risk.append(np.einsum("j,jx->x", size * way, by_risk))
    return ExtraError(np.stack(mean), np.stack(risk))


def _slopes(cells: _Cells, matrix: FloatArray, row: int) -> tuple[FloatArray, FloatArray]:
    """How means [K, X, K] and risks [K, X] change with each share of a row, the others giving way
    to it."""
    mean, risk = [], []
    for j in range(len(matrix)):
        ends = []
        for sign in (1.0, -1.0):
            moved = matrix.copy()
            moved[row, j] += sign * STEP
            moved[row] /= moved[row].sum()
            ends.append(cells.moments(_inverse(moved)))
        mean.append((ends[0][0] - ends[1][0]) / (2 * STEP))
        risk.append((ends[0][1] - ends[1][1]) / (2 * STEP))
    return np.stack(mean), np.stack(risk)


def _inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _named(report: RiskReport) -> RiskReport:
    """The report whose estimates say that a judge was corrected."""
    R, steady, swing = (
        replace(e, method=f"{e.method}, judge")
        for e in (report.R, report.R_bias, report.R_volatility)
    )
    return replace(report, R=R, R_bias=steady, R_volatility=swing)
