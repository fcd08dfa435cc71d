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
    normalize_shared,
    normalize_weights,
    read_only,
)

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

NEGATIVE_TOLERANCE = 1e-9
"""How far below 0 rounding may push a probability."""

ALL = slice(None)


class PreferenceArguments(TypedDict, total=False):
    """How cells count and what they are called, and how preferences become risks; keywords of every
    function of arrays, as `decompose` describes them."""

    context_weights: ArrayLike | None
    group_weights: ArrayLike | None
    mask: ArrayLike | None
    groups: Sequence[str] | None
    reference: ArrayLike | Literal["group-mean"] | None
    categories: Sequence[str] | None
    criterion: str | Criterion | None


@dataclass(frozen=True, eq=False)
class PreferenceGrid:
    """Groups × contexts with their preferences and weights, and a mask of the observed cells.

    Attributes:
        groups, categories: labels, X and K of them.
        values: [X,C,K]; ignored where the mask is False.
        context_weights: [1,C] when shared, [X,C] when each group has its own; rows sum to one.
        group_weights: [X], sum to one over all groups, the missing ones included.
        mask: [X,C], True = observed; None when all cells are.
        reference: p*, [1,1,K], [X,1,K] or [X,C,K].
        criterion: how a departure from p* counts as risk.
        relative: whether p* is the mean over the groups, and so one of the model's own.
    """

    groups: tuple[str, ...]
    categories: tuple[str, ...]
    values: RealArray
    context_weights: FloatArray
    group_weights: FloatArray
    mask: BoolArray | None
    reference: FloatArray
    criterion: Criterion
    relative: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(X, C)."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def contexts_asked(self) -> int:
        """Contexts with an observed cell: of a run that is half-finished, those asked so far."""
        return self.shape[1] if self.mask is None else int(self.mask.any(axis=0).sum())

    @property
    def missing_cells(self) -> int:
        """How many cells the mask says were not observed."""
        return (
            0
            if self.mask is None
            else int(self.mask.size - np.count_nonzero(self.mask))
        )

    @property
    def tolerance(self) -> float:
        """Risks below this are rounding."""
        if self.criterion.normalize:
            return ROUNDING
        return ROUNDING * max(1.0, 1.0 / float(np.nanmin(self.reference)) - 1.0)

    def place(self, group: int, context: int) -> str:
        """The position of a cell, in words for an error."""
        return f"group {self.groups[group]!r}, context {context}"

    def cell_weights(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """Weights of a block of cells, 0 where not observed: a new array of the block's shape.

        Always a full array, never a broadcast view: the sum of w and the sum of w·1 then add the
        same numbers in the same order, and a mean of ones is exactly one.
        """
        w = np.broadcast_to(self.context_weights, self.shape)[rows, columns].copy()
        if self.mask is not None:
            w[~self.mask[rows, columns]] = 0.0
        return w

    def observed_weights(self, observed: BoolArray) -> FloatArray:
        """Group weights with 0 for groups that were not observed; an error if none is left."""
        weights = np.where(observed, self.group_weights, 0.0)
        if not weights.any():
            raise SettingsError(
                "mask: expected an observed cell with positive weight in at least one group that "
                "has weight, found none; there is nothing to average"
            )
        return weights

    def missing(self, total: FloatArray) -> tuple[str, ...]:
        """The groups without any observed weight, of those with these totals [X]."""
        return tuple(g for g, w in zip(self.groups, total, strict=True) if w <= 0)

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """[X,C], the weights of cells within their group, which sum to one, or to 0 for a missing
        group; and [X] of the observed groups, which sum to one."""
        w = self.cell_weights()
        total = w.sum(axis=1, keepdims=True)
        groups = self.observed_weights(total[:, 0] > 0)
        return w / np.where(total > 0, total, 1.0), groups / groups.sum()

    def mean(self, values: RealArray) -> FloatArray:
        """[X,C,Y] -> [X,Y], means over the observed contexts, by weight; NaN for missing groups."""
        w = self.cell_weights()
        total = w.sum(axis=1)[:, None]
        sums = np.einsum("xc,xcy->xy", w, np.where(w[..., None] > 0, values, 0.0))
        means = np.full(sums.shape, np.nan)
        np.divide(sums, total, out=means, where=total > 0)
        return means

    def holding(self, values: RealArray) -> PreferenceGrid:
        """The same grid with the preferences [X,C,K] of another model."""
        found = replace(self, values=values)
        if self.relative:
            divides = self.criterion.name == "ratio"
            star = group_mean(values, self.group_weights, self.mask, positive=divides)
            found = replace(found, reference=star)
        found.check()
        return found

    def check(self) -> None:
        """Refuse observed cells that are not distributions."""
        for rows, columns in blocks(self.shape, depth=len(self.categories)):
            block = self.block(rows, columns)
            each = np.moveaxis(block, -1, 0)
            with np.errstate(invalid="ignore", over="ignore"):
                total, least = reduce(np.add, each), reduce(np.minimum, each)
                fits = (np.abs(total - 1.0) <= SIMPLEX_TOLERANCE) & (
                    least >= -NEGATIVE_TOLERANCE
                )
            if not fits.all():
                x, c = (int(i) for i in np.argwhere(~fits)[0])
                _refuse(block[x, c], self.place(rows.start + x, columns.start + c))

    def block(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """Preferences of a block in float64, uniform (and of weight 0) where not observed."""
        block = np.asarray(self.values[rows, columns], dtype=np.float64)
        if self.mask is None:
            return block
        return np.where(self.mask[rows, columns, None], block, 1.0 / block.shape[2])

    def references(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """p* of a block, or what broadcasts to it; uniform where a cell's own was not observed."""
        X, C = self.reference.shape[:2]
        star = self.reference[rows if X > 1 else ALL, columns if C > 1 else ALL]
        if self.mask is not None and self.shape == (X, C):
            star = np.where(self.mask[rows, columns, None], star, 1.0 / star.shape[2])
        return star

    def stereotypes(self, rows: slice = ALL, columns: slice = ALL) -> FloatArray:
        """s of a block of cells [x,c,K]."""
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
    X, C, K = values.shape
    if X < 1 or C < 1:
        raise SettingsError(
            f"p: expected at least one {'context' if X else 'group'}, found none"
        )
    seen = as_mask(mask, (X, C))
    relative = isinstance(reference, str)
    if relative and reference != GROUP_MEAN:
        raise SettingsError(
            f'reference: expected shares or "{GROUP_MEAN}", found {reference!r}'
        )
    star = resolve_reference(
        None if isinstance(reference, str) else reference, (X, C, K), seen
    )
    labels = as_labels(categories, K, name="categories")
    even = not relative and is_even(star)
    chosen = choose_criterion(criterion, even=even, categories=labels)
    if chosen.points and len(chosen.points) != K:
        raise SettingsError(f"points: expected {K} numbers, found {len(chosen.points)}")
    found = PreferenceGrid(
        groups=as_labels(groups, X, name="groups"),
        categories=labels,
        values=values,
        context_weights=normalize_shared(
            context_weights, (X, C), name="context_weights"
        ),
        group_weights=read_only(
            normalize_weights(group_weights, X, name="group_weights")
        ),
        mask=seen,
        reference=star,
        criterion=chosen,
        relative=relative,
    )
    found.check()
    return found.holding(values) if relative else found


def as_cells(p: ArrayLike) -> RealArray:
    """Preferences as [X,C,K]; [C,K] is read as one group. Only the shape is checked."""
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
