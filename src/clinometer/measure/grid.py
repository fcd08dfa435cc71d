"""Preferences as read: values, weights, mask and reference, checked once and passed whole.

Every estimator takes a `PreferenceGrid`, so that risks, intervals and distributions cannot treat
missing cells or weights differently, and nothing is checked twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.criterion import Criterion, choose_criterion
from clinometer.measure.frame import read_frame
from clinometer.measure.stereotype import (
    GROUP_MEAN,
    group_mean,
    is_even,
    resolve_reference,
)
from clinometer.statistics.arrays import (
    ROUNDING,
    SIMPLEX_TOLERANCE,
    BoolArray,
    FloatArray,
    RealArray,
    as_labels,
    as_mask,
    as_real,
    blocks,
    read_only,
)
from clinometer.statistics.weights import normalize_shared, normalize_weights

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

NEGATIVE_TOLERANCE = 1e-9
"""How far below 0 rounding may push a probability."""

ALL = slice(None)
"""All rows, or all columns."""


class PreferenceArguments(TypedDict, total=False):
    """How cells count and what they are called, and how preferences become risks.

    Keywords of every function of arrays, as `decompose` describes them.
    """

    context_weights: ArrayLike | None
    group_weights: ArrayLike | None
    mask: ArrayLike | None
    groups: Sequence[str] | None
    reference: ArrayLike | Literal["group-mean"] | None
    categories: Sequence[str] | None
    criterion: str | Criterion | None


@dataclass(frozen=True, eq=False)
class PreferenceGrid:
    """Groups × contexts with their preferences and weights, and a mask of the observed cells."""

    groups: tuple[str, ...]
    """Labels of the X groups."""

    categories: tuple[str, ...]
    """Labels of the K categories."""

    values: RealArray
    """[X,C,K], preferences; ignored where the mask is False."""

    context_weights: FloatArray
    """[1,C] when shared, [X,C] when each group has its own; rows sum to one."""

    group_weights: FloatArray
    """[X], sum to one over all groups, the missing ones included."""

    mask: BoolArray | None
    """[X,C], True = observed; None when all cells are."""

    reference: FloatArray
    """p*, [1,1,K], [X,1,K] or [X,C,K]."""

    criterion: Criterion
    """How a departure from p* counts as risk."""

    relative: bool = False
    """Whether p* is the mean over the groups, and so one of the model's own."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return (X, C)."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def contexts_asked(self) -> int:
        """Return the contexts with an observed cell: of a run that is half-finished, those asked so
        far."""
        if self.mask is None:
            return self.shape[1]
        return int(self.mask.any(axis=0).sum())

    @property
    def missing_cells(self) -> int:
        """Return how many cells the mask says were not observed."""
        if self.mask is None:
            return 0
        return int(self.mask.size - np.count_nonzero(self.mask))

    @property
    def tolerance(self) -> float:
        """Return the size below which risks are rounding."""
        if self.criterion.normalize:
            return ROUNDING
        return ROUNDING * max(1.0, 1.0 / float(np.nanmin(self.reference)) - 1.0)

    def place(self, group: int, context: int) -> str:
        """Return the position of a cell, in words for an error."""
        return f"group {self.groups[group]!r}, context {context}"

    def cell_weights(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """Return the weights of a block of cells, 0 where not observed: a new array.

        Always a full array, never a broadcast view: the sum of w and the sum of w·1 then add the
        same numbers in the same order, and a mean of ones is exactly one.
        """
        all_weights = np.broadcast_to(self.context_weights, self.shape)
        w = all_weights[rows, columns].copy()
        if self.mask is not None:
            w[~self.mask[rows, columns]] = 0.0
        return w

    def observed_weights(self, observed: BoolArray) -> FloatArray:
        """Return group weights, 0 for groups that were not observed; an error if none is left."""
        weights = np.where(observed, self.group_weights, 0.0)
        if not weights.any():
            raise SettingsError(
                "mask: expected an observed cell with positive weight in at least one group that "
                "has weight, found none; there is nothing to average"
            )
        return weights

    def missing(self, total: FloatArray) -> tuple[str, ...]:
        """Return the groups without any observed weight; `total` [X] is what each has."""
        return tuple(
            group
            for group, weight in zip(self.groups, total, strict=True)
            if weight <= 0
        )

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights of cells within their group, and those of the groups.

        [X,C], rows sum to one, or to 0 for a missing group; and [X] of the observed groups, which
        sum to one.
        """
        w = self.cell_weights()
        total = w.sum(axis=1, keepdims=True)
        groups = self.observed_weights(total[:, 0] > 0)
        return w / np.where(total > 0, total, 1.0), groups / groups.sum()

    def mean(self, values: RealArray) -> FloatArray:
        """Return means over the observed contexts, by weight, [X,C,Y] -> [X,Y]; NaN for missing
        groups."""
        w = self.cell_weights()
        total = w.sum(axis=1)[:, None]
        counted = np.where(w[..., None] > 0, values, 0.0)
        sums = np.einsum("xc,xcy->xy", w, counted)
        means = np.full(sums.shape, np.nan)
        np.divide(sums, total, out=means, where=total > 0)
        return means

    def holding(self, values: RealArray) -> PreferenceGrid:
        """Return the same grid with the preferences [X,C,K] of another model."""
        reference = self.reference
        if self.relative:
            divides = self.criterion.name == "ratio"
            reference = group_mean(
                values, self.group_weights, self.mask, positive=divides
            )
        grid = replace(self, values=values, reference=reference)
        grid.check()
        return grid

    def check(self) -> None:
        """Refuse observed cells that are not distributions."""
        for rows, columns in blocks(self.shape, depth=len(self.categories)):
            block = self.block(rows, columns)
            # Category by category: numpy reduces a short last axis many times more slowly.
            by_category = np.moveaxis(block, -1, 0)
            with np.errstate(invalid="ignore", over="ignore"):
                total = reduce(np.add, by_category)
                least = reduce(np.minimum, by_category)
                sums_to_one = np.abs(total - 1.0) <= SIMPLEX_TOLERANCE
                fits = sums_to_one & (least >= -NEGATIVE_TOLERANCE)
            if not fits.all():
                x, c = (int(i) for i in np.argwhere(~fits)[0])
                _refuse(block[x, c], self.place(rows.start + x, columns.start + c))

    def block(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """Return preferences of a block in float64, uniform (of weight 0) where not observed."""
        block = np.asarray(self.values[rows, columns], dtype=np.float64)
        if self.mask is None:
            return block
        return np.where(self.mask[rows, columns, None], block, 1.0 / block.shape[2])

    def references(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """Return p* of a block, or what broadcasts to it; uniform where a cell's own was not
        observed."""
        X, C, K = self.reference.shape
        reference = self.reference[rows if X > 1 else ALL, columns if C > 1 else ALL]
        if self.mask is None or self.shape != (X, C):
            return reference
        return np.where(self.mask[rows, columns, None], reference, 1.0 / K)

    def stereotypes(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """Return s of a block of cells [x,c,K]."""
        return self.criterion.stereotypes(
            self.block(rows, columns), self.references(rows, columns)
        )


def read_preferences(
    p: ArrayLike | DataFrame, **given: Unpack[PreferenceArguments]
) -> PreferenceGrid:
    """Read and check preferences with their weights, mask and labels (`PreferenceArguments`).

    A frame with the columns group, context, attribute and p has its labels, and may have its
    weights and reference; see `read_frame`. What is given by name takes precedence.

    >>> read_preferences([[0.6, 0.4], [0.8, 0.2]]).shape
    (1, 2)
    """
    if not hasattr(p, "columns"):
        return _read(as_cells(p), **given)
    table = read_frame(cast("DataFrame", p))
    from_table: PreferenceArguments = {
        "context_weights": table.context_weights,
        "group_weights": table.group_weights,
        "mask": ~np.isnan(table.values).any(axis=2),
        "groups": table.groups,
        "categories": table.categories,
        "reference": table.reference,
    }
    from_table.update(given)
    return _read(table.values, **from_table)


def _read(
    values: RealArray,
    *,
    context_weights: ArrayLike | None = None,
    group_weights: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    groups: Sequence[str] | None = None,
    reference: ArrayLike | Literal["group-mean"] | None = None,
    categories: Sequence[str] | None = None,
    criterion: str | Criterion | None = None,
) -> PreferenceGrid:
    """Return checked preferences [X,C,K]; what is not given takes its default."""
    X, C, K = values.shape
    if X < 1 or C < 1:
        raise SettingsError(
            f"p: expected at least one {'context' if X else 'group'}, found none"
        )
    observed = as_mask(mask, (X, C))
    relative = isinstance(reference, str)
    if relative and reference != GROUP_MEAN:
        raise SettingsError(
            f'reference: expected shares or "{GROUP_MEAN}", found {reference!r}'
        )
    shares = None if isinstance(reference, str) else reference
    star = resolve_reference(shares, (X, C, K), observed)
    labels = as_labels(categories, K, name="categories")
    even = not relative and is_even(star)
    chosen = choose_criterion(criterion, even=even, categories=labels)
    if chosen.points and len(chosen.points) != K:
        raise SettingsError(f"points: expected {K} numbers, found {len(chosen.points)}")
    weights_of_groups = normalize_weights(group_weights, X, name="group_weights")
    grid = PreferenceGrid(
        groups=as_labels(groups, X, name="groups"),
        categories=labels,
        values=values,
        context_weights=normalize_shared(
            context_weights, (X, C), name="context_weights"
        ),
        group_weights=read_only(weights_of_groups),
        mask=observed,
        reference=star,
        criterion=chosen,
        relative=relative,
    )
    grid.check()
    if not relative:
        return grid
    return grid.holding(values)


def as_cells(p: ArrayLike) -> RealArray:
    """Read preferences as [X,C,K]; [C,K] is one group. Only the shape is checked."""
    array = as_real(p, name="p")
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3:
        raise SettingsError(
            "p: expected shape [groups, contexts, categories], or [contexts, categories] for one "
            f"group, found {array.ndim} dimensions"
        )
    if array.shape[2] < 2:
        raise SettingsError(
            f"p: expected at least two categories on the last axis, found {array.shape[2]}; "
            "for two give both p and 1 - p"
        )
    return array


def _refuse(row: FloatArray, place: str) -> None:
    """Raise for a cell that is no distribution, and say why."""
    if np.isnan(row).any():
        raise SettingsError(
            f"p: expected numbers, found NaN in {place}; "
            "if cells are missing, pass mask (True = observed)"
        )
    if np.isinf(row).any():
        raise SettingsError(f"p: expected finite numbers, found infinity in {place}")
    if (row < -NEGATIVE_TOLERANCE).any():
        raise SettingsError(f"p: expected at least 0, found {row.min()} in {place}")
    with np.errstate(over="ignore"):
        total = row.sum()
    raise SettingsError(
        f"p: expected preferences that sum to one over the categories, found {total} in "
        f"{place}; give them as shares of all categories (see clinometer.measure.preference)"
    )
