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

SPLITS, CELLS = 24, 400_000
"""Random splits of the replies of a cell, fewer where there are more cells than this in all: with
many cells the noise of the splits averages out over them."""

WHOLE = 1e-3
"""How far p × replies may be from a whole number."""


def unit_numbers(
    clusters: Sequence[object] | NDArray[Any] | None, C: int
) -> NDArray[np.intp]:
    """[C], the number of the unit that each context belongs to, in the order of their first one.

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
    """[C,..] added up by unit: [U,..]."""
    if np.array_equal(units, np.arange(len(units))):
        return values
    out = np.zeros((int(units.max()) + 1, *values.shape[1:]))
    np.add.at(out, units, values)
    return out


def reply_counts(
    values: RealArray, replies: ArrayLike, mask: ArrayLike | None = None
) -> IntArray:
    """[X,C,K], whole replies of each category, from shares [X,C,K] of a number of replies.

    Args:
        values: shares.
        replies: a number, [C] or [X,C].
        mask: [X,C], True = observed; other cells have no replies.

    Numbers below 1, and shares that no such number of replies gives, are errors.

    >>> reply_counts(np.array([[[0.25, 0.75]]]), 4).tolist()
    [[[1, 3]]]
    """
    X, C = values.shape[:2]
    given = as_real(replies, name="samples")
    if given.shape not in ((), (C,), (X, C)):
        raise SettingsError(
            f"samples: expected a number, shape {(C,)} or {(X, C)}, found {given.shape}"
        )
    seen = np.ones((X, C), bool) if mask is None else np.asarray(mask)
    n = np.where(seen, np.broadcast_to(given, (X, C)), 1.0)
    if not ((n >= 1) & (n == np.round(n))).all():
        raise SettingsError(
            f"samples: expected whole numbers of at least 1, found {float(n.min())}; "
            "give the number of answers that each cell rests on"
        )
    exact = np.where(seen[..., None], values, 0.0) * n[..., None]
    counts = np.round(exact).astype(np.int64)
    off = np.abs(exact - counts).max(axis=-1) > WHOLE
    off |= seen & (counts.sum(axis=-1) != n)
    if off.any():
        x, c = (int(i) for i in np.argwhere(off)[0])
        raise SettingsError(
            f"samples: expected p × samples to be whole numbers, found {exact[x, c].tolist()} in "
            f"group {x}, context {c}; give the number of answers each cell rests on"
        )
    return counts


@dataclass(frozen=True, eq=False)
class Evidence:
    """U units, X groups, K categories.

    s          [U,X,K] mean departure from the reference in the unit; 0 where not observed
    low, high  [U,X] mean of J over the cells of the unit: the cross-fitted one, whose expectation
               is at most the true J, and the plug-in one, whose expectation is at least that. The
               same for exact probabilities
    weights    [U,X] of the units within each group: sum to one, or to 0 for a missing group
    share      [U] of the units, all groups together: how often each is met; sums to one
    groups     [X] weights of the observed groups, sum to one
    """

    s: FloatArray
    low: FloatArray
    high: FloatArray
    weights: FloatArray
    share: FloatArray
    groups: FloatArray
    criterion: Criterion

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        *,
        clusters: Sequence[object] | None = None,
        samples: ArrayLike | None = None,
        unmix: FloatArray | None = None,
    ) -> Evidence:
        """The evidence of preferences as read.

        Args:
            clusters: [C] labels of contexts that were sampled together.
            samples: replies behind each cell, a number, [C] or [X,C]; None: p is exact.
            unmix: [K,K], what the shares are multiplied by before anything else (a judge's
                inverse matrix).
        """
        units = unit_numbers(clusters, grid.shape[1])
        (weight, groups), J = grid.shares(), grid.criterion
        s = _departures(grid, grid.block(), grid.mask, unmix)
        high = low = J(s)
        if samples is not None:
            counts = reply_counts(grid.values, samples, grid.mask)
            low = _crossed(grid, counts, s, weight, unmix)
        share = grid.context_weights[0]
        if len(grid.context_weights) > 1:
            share = groups @ grid.context_weights
        total = by_unit(weight.T, units)
        inner = np.where(total > 0, total, 1.0)

        def averaged(values: FloatArray) -> FloatArray:
            """[X,C] as means [U,X] over the contexts of a unit."""
            return np.asarray(by_unit((weight * values).T, units) / inner)

        every = np.moveaxis(weight[..., None] * s, 0, 1)
        return cls(
            s=by_unit(every, units) / inner[..., None],
            low=averaged(low),
            high=averaged(high),
            weights=total,
            share=by_unit(share, units) / share.sum(),
            groups=groups,
            criterion=J,
        )

    @property
    def mean(self) -> FloatArray:
        """[X,K], mean of s over the units."""
        return np.asarray(np.einsum("ux,uxk->xk", self.weights, self.s))

    @property
    def sampled(self) -> bool:
        """Whether J is only bracketed, because replies were counted."""
        return self.low is not self.high and bool((self.low != self.high).any())

    @property
    def n_eff(self) -> float:
        """How many even units the sample is worth."""
        return float(1.0 / np.sum(self.share**2))

    def with_whole(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """[U,X+1] values of each group and unit with those of all groups together in the last
        column, and their weights.

        A unit counts in the last column by how far it moves the mean over the groups: a missing
        cell moves it by nothing.
        """
        means = (self.weights * values).sum(axis=0)
        moved = (self.weights * self.groups * (values - means)).sum(axis=1)
        whole = self.groups @ means + moved / np.where(self.share > 0, self.share, 1.0)
        weights = np.append(self.weights, self.share[:, None], axis=1)
        return np.append(values, whole[:, None], axis=1), weights


def _departures(
    grid: PreferenceGrid,
    p: FloatArray,
    seen: BoolArray | None,
    unmix: FloatArray | None,
) -> FloatArray:
    """s of shares [X,C,K] in the cells of a grid, 0 where not seen; relative to groups, from their
    own mean. `unmix` [K,K] is what the shares are multiplied by."""
    star = grid.references()
    if grid.relative:
        divides = grid.criterion.name == "ratio"
        star = group_mean(p, grid.group_weights, seen, positive=divides)
    s = grid.criterion.stereotypes(p if unmix is None else p @ unmix, star)
    return s if seen is None else np.where(seen[..., None], s, 0.0)


def _crossed(
    grid: PreferenceGrid,
    counts: IntArray,
    s: FloatArray,
    weights: FloatArray,
    unmix: FloatArray | None,
) -> FloatArray:
    """[X,C], J of each cell with directions from some of its replies and means from the others,
    averaged over random splits; expected to be at most J.

    A cell with one reply takes the direction of its group's other contexts.
    """
    rng, J = np.random.default_rng(0), grid.criterion
    n = counts.sum(axis=-1)
    one = n > 1
    fewer = np.where(n > 2, n // 3, 1) * one  # these are measured, the others choose
    out = np.zeros(n.shape)
    times = int(np.clip(CELLS // n.size, 4, SPLITS)) if one.any() else 0
    for _ in range(times):
        measured = thin(counts, fewer, rng)
        first, second = (
            _departures(
                grid, part / np.maximum(part.sum(axis=-1, keepdims=True), 1), one, unmix
            )
            for part in (counts - measured, measured)
        )
        out += J.slope(first, second) / times
    w = weights[..., None]
    others = np.einsum("xc,xck->xk", weights, s)[:, None] - w * s
    return np.where(one, out, J.slope(others / np.where(w < 1, 1 - w, 1.0), s))


def thin(counts: IntArray, left: IntArray, rng: np.random.Generator) -> IntArray:
    """[..,K]: `left` [..] of the replies of each cell [..,K], at random without replacement."""
    out, rest, left = np.zeros_like(counts), counts.sum(axis=-1), left.copy()
    for y in range(counts.shape[-1] - 1):
        rest = rest - counts[..., y]
        some = counts[..., y] > 0
        drawn = rng.hypergeometric(counts[..., y][some], rest[some], left[some])
        out[..., y][some] = drawn
        left[some] -= drawn
    out[..., -1] = left
    return out
