"""What a run says of every group in every unit of sampling: the one input of all inference.

`Evidence.of` makes it once, from exact probabilities or from counts of replies. A unit is a
context, or a cluster of contexts that were sampled together; `unit_numbers` alone decides which
context belongs to which unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.stereotype import group_mean
from clinometer.statistics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    RealArray,
    as_real,
)

SPLITS = 24
"""Random splits of the replies of a cell at most."""

CELLS = 400_000
"""With more cells than this over all splits there are fewer splits: with many cells the noise of
the splits averages out over them."""

WHOLE = 1e-3
"""How far p × replies may be from a whole number."""


def unit_numbers(
    clusters: Sequence[object] | NDArray[Any] | None, C: int
) -> NDArray[np.intp]:
    """Return the number of the unit that each context belongs to [C], in the order of their first
    context.

    >>> unit_numbers(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    if clusters is None:
        return np.arange(C, dtype=np.intp)
    labels = [str(label) for label in clusters]
    if isinstance(clusters, str) or len(labels) != C:
        raise SettingsError(
            f"clusters: expected {C} labels, one a context, found {len(labels)}"
        )
    numbers = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.intp)


def by_unit(values: FloatArray, units: NDArray[np.intp]) -> FloatArray:
    """Return the sums of values [C,..] over the contexts of each unit, [U,..]."""
    if np.array_equal(units, np.arange(len(units))):
        return values
    sums = np.zeros((int(units.max()) + 1, *values.shape[1:]))
    np.add.at(sums, units, values)
    return sums


def reply_counts(
    values: RealArray, replies: ArrayLike, mask: ArrayLike | None = None
) -> IntArray:
    """Return whole replies of each category [X,C,K], from their shares of a number of replies.

    Args:
        values: [X,C,K], shares.
        replies: a number, [C] or [X,C].
        mask: [X,C], True = observed; other cells have no replies.

    Numbers below 1, and shares that no such number of replies gives, are errors.

    >>> reply_counts(np.array([[[0.25, 0.75]]]), 4).tolist()
    [[[1, 3]]]
    """
    X, C = values.shape[:2]
    number = as_real(replies, name="samples")
    if number.shape not in ((), (C,), (X, C)):
        raise SettingsError(
            f"samples: expected a number, shape {(C,)} or {(X, C)}, found {number.shape}"
        )
    observed = np.ones((X, C), bool) if mask is None else np.asarray(mask)
    n = np.where(observed, np.broadcast_to(number, (X, C)), 1.0)
    if not ((n >= 1) & (n == np.round(n))).all():
        raise SettingsError(
            f"samples: expected whole numbers of at least 1, found {float(n.min())}; "
            "give the number of answers that each cell rests on"
        )
    exact = np.where(observed[..., None], values, 0.0) * n[..., None]
    counts = np.round(exact).astype(np.int64)
    broken = np.abs(exact - counts).max(axis=-1) > WHOLE
    incomplete = observed & (counts.sum(axis=-1) != n)
    wrong = broken | incomplete
    if wrong.any():
        x, c = (int(i) for i in np.argwhere(wrong)[0])
        raise SettingsError(
            f"samples: expected p × samples to be whole numbers, found {exact[x, c].tolist()} in "
            f"group {x}, context {c}; give the number of answers each cell rests on"
        )
    return counts


@dataclass(frozen=True, eq=False)
class Evidence:
    """Departures and risks of X groups with K categories in U units."""

    s: FloatArray
    """[U,X,K], mean departure from the reference in the unit; 0 where not observed."""

    low: FloatArray
    """[U,X], mean of J over the cells of the unit, cross-fitted: its expectation is at most the
    true J. The same as `high` for exact probabilities."""

    high: FloatArray
    """[U,X], mean of J over the cells of the unit, plugged in: its expectation is at least the
    true J."""

    weights: FloatArray
    """[U,X], of the units within each group: sum to one, or to 0 for a missing group."""

    share: FloatArray
    """[U], of the units, all groups together: how often each is met; sums to one."""

    groups: FloatArray
    """[X], weights of the observed groups, sum to one."""

    criterion: Criterion
    """J, how a departure counts as risk."""

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        *,
        clusters: Sequence[object] | None = None,
        samples: ArrayLike | None = None,
        unmix: FloatArray | None = None,
    ) -> Evidence:
        """Return the evidence of preferences as read.

        Args:
            grid: the preferences.
            clusters: [C] labels of contexts that were sampled together.
            samples: replies behind each cell, a number, [C] or [X,C]; None: p is exact.
            unmix: [K,K], what the shares are multiplied by before anything else (a judge's
                inverse matrix).
        """
        J = grid.criterion
        units = unit_numbers(clusters, grid.shape[1])
        cell_weights, groups = grid.shares()
        s = _departures(grid, grid.block(), grid.mask, unmix)
        high = J(s)
        low = high
        if samples is not None:
            counts = reply_counts(grid.values, samples, grid.mask)
            low = _cross_fitted_risk(grid, counts, s, cell_weights, unmix)

        weights = by_unit(cell_weights.T, units)
        divisor = np.where(weights > 0, weights, 1.0)

        def unit_mean(values: FloatArray) -> FloatArray:
            """Return means [U,X] of values [X,C] over the contexts of a unit."""
            return np.asarray(by_unit((cell_weights * values).T, units) / divisor)

        weighted_s = np.moveaxis(cell_weights[..., None] * s, 0, 1)
        share = _context_shares(grid, groups)
        return cls(
            s=by_unit(weighted_s, units) / divisor[..., None],
            low=unit_mean(low),
            high=unit_mean(high),
            weights=weights,
            share=by_unit(share, units) / share.sum(),
            groups=groups,
            criterion=J,
        )

    @property
    def mean(self) -> FloatArray:
        """Return the mean of s over the units, [X,K]."""
        return np.asarray(np.einsum("ux,uxk->xk", self.weights, self.s))

    @property
    def sampled(self) -> bool:
        """Return whether J is only bracketed, because replies were counted."""
        return self.low is not self.high and bool((self.low != self.high).any())

    @property
    def n_eff(self) -> float:
        """Return how many even units the sample is worth."""
        return float(1.0 / np.sum(self.share**2))

    @property
    def weights_with_whole(self) -> FloatArray:
        """Return the weights of the units in each column of `with_whole`, [U,X+1]."""
        return np.append(self.weights, self.share[:, None], axis=1)

    def with_whole(self, values: FloatArray) -> FloatArray:
        """Return values [U,X] with those of all groups together in a last column, [U,X+1].

        A unit counts in the last column by how far it moves the mean over the groups: a missing
        cell moves it by nothing.
        """
        group_means = (self.weights * values).sum(axis=0)
        contributions = self.weights * self.groups * (values - group_means)
        divisor = np.where(self.share > 0, self.share, 1.0)
        whole = self.groups @ group_means + contributions.sum(axis=1) / divisor
        return np.append(values, whole[:, None], axis=1)


def _context_shares(grid: PreferenceGrid, groups: FloatArray) -> FloatArray:
    """Return how often each context is met, all groups together, [C]."""
    if len(grid.context_weights) > 1:
        return np.asarray(groups @ grid.context_weights)
    return np.asarray(grid.context_weights[0])


def _departures(
    grid: PreferenceGrid,
    p: FloatArray,
    observed: BoolArray | None,
    unmix: FloatArray | None,
) -> FloatArray:
    """Return s [X,C,K] of shares p [X,C,K] in the cells of a grid, 0 where not observed.

    Relative to groups, from the mean of these shares. `unmix` [K,K] is what the shares are
    multiplied by.
    """
    reference = grid.references()
    if grid.relative:
        divides = grid.criterion.name == "ratio"
        reference = group_mean(p, grid.group_weights, observed, positive=divides)
    if unmix is not None:
        p = p @ unmix
    s = grid.criterion.stereotypes(p, reference)
    if observed is None:
        return s
    return np.where(observed[..., None], s, 0.0)


def _cross_fitted_risk(
    grid: PreferenceGrid,
    counts: IntArray,
    s: FloatArray,
    weights: FloatArray,
    unmix: FloatArray | None,
) -> FloatArray:
    """Return J of each cell [X,C] with directions from some of its replies and means from the
    others, averaged over random splits; expected to be at most J.

    A third of the replies is measured along what the others choose. A cell with one reply takes
    the direction of its group's other contexts.
    """
    J = grid.criterion
    rng = np.random.default_rng(0)
    replies = counts.sum(axis=-1)
    several = replies > 1
    to_measure = np.where(replies > 2, replies // 3, 1) * several
    cross_fitted = np.zeros(replies.shape)
    splits = 0
    if several.any():
        splits = int(np.clip(CELLS // replies.size, 4, SPLITS))
    for _ in range(splits):
        measured = thin(counts, to_measure, rng)
        choosing = counts - measured
        direction = _departures(grid, _reply_shares(choosing), several, unmix)
        departure = _departures(grid, _reply_shares(measured), several, unmix)
        cross_fitted += J.slope(direction, departure) / splits

    w = weights[..., None]
    other_contexts = np.einsum("xc,xck->xk", weights, s)[:, None] - w * s
    mean_of_others = other_contexts / np.where(w < 1, 1 - w, 1.0)
    return np.where(several, cross_fitted, J.slope(mean_of_others, s))


def _reply_shares(counts: IntArray) -> FloatArray:
    """Return counts [..,K] as shares of the replies of each cell; 0 without any."""
    return np.asarray(counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1))


def thin(counts: IntArray, left: IntArray, rng: np.random.Generator) -> IntArray:
    """Return `left` [..] of the replies of each cell [..,K], drawn without replacement, [..,K]."""
    thinned = np.zeros_like(counts)
    undrawn = left.copy()
    later_categories = counts.sum(axis=-1)
    for y in range(counts.shape[-1] - 1):
        category = counts[..., y]
        later_categories = later_categories - category
        some = category > 0
        drawn = rng.hypergeometric(
            category[some], later_categories[some], undrawn[some]
        )
        thinned[..., y][some] = drawn
        undrawn[some] -= drawn
    thinned[..., -1] = undrawn
    return thinned
