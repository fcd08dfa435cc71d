"""How far a preference is from the reference: the stereotype s (Eq. 1) and its scale."""

from __future__ import annotations

from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import (
    SIMPLEX_TOLERANCE,
    BoolArray,
    FloatArray,
    RealArray,
    as_real,
)

GROUP_MEAN: Literal["group-mean"] = "group-mean"

REFERENCE_FLOOR = 1e-9
"""The smallest share p*_y: below it 1/p*_y exceeds the precision of p."""


def stereotype(p: ArrayLike, reference: ArrayLike | None = None) -> FloatArray:
    """Return s_y = p_y / p*_y - 1 (Eq. 1).

    Args:
        p: [X,C,Y], or [C,Y] or [Y] for one group.
        reference: p*, as for `resolve_reference`; None is uniform.

    Returns:
        An array of the shape of p. 0: as the reference; -1: never this category;
        1/p*_y - 1: always this category. NaN in p (a missing cell) stays NaN.

    Fewer than two categories, and a reference that is not a positive distribution, are errors.

    >>> stereotype([0.6, 0.4]).round(12).tolist()
    [0.2, -0.2]
    """
    array = np.asarray(as_real(p, name="p"), dtype=np.float64)
    if not 1 <= array.ndim <= 3:
        raise SettingsError(
            f"p: expected shape [groups, contexts, categories], found {array.ndim} dimensions"
        )
    cells = array.reshape((1,) * (3 - array.ndim) + array.shape)
    resolved = resolve_reference(reference, cells.shape)
    return np.asarray(cells / resolved - 1.0).reshape(array.shape)


def resolve_reference(
    reference: ArrayLike | None, shape: tuple[int, ...], mask: BoolArray | None = None
) -> FloatArray:
    """Return the reference p* as an array that broadcasts against preferences of `shape` [X,C,Y].

    Args:
        reference: None (uniform, 1/K), [Y] (one for all), [X,Y] (one per group) or [X,C,Y]
            (one per cell).
        shape: (X, C, Y).
        mask: [X,C], True = observed; a per-cell reference is ignored where it is False.

    Returns:
        [1,1,Y], [X,1,Y] or [X,C,Y].

    Each p* must be finite, at least 1e-9 in every category (so never one-hot: s would be
    infinite) and sum to one within 1e-6. A two-dimensional reference is always one per group:
    for one per context of a single group give [1,C,Y].

    >>> resolve_reference([0.25, 0.75], (3, 9, 2)).shape
    (1, 1, 2)
    """
    X, C, K = shape
    if K < 2:
        raise SettingsError(
            f"p: expected at least two categories on the last axis, found {K}"
        )
    if reference is None:
        return np.full((1, 1, K), 1.0 / K)
    array = np.asarray(as_real(reference, name="reference"), dtype=np.float64)
    if array.shape == (K,):
        array = array[None, None, :]
        place = ""
    elif array.shape == (X, K):
        array = array[:, None, :]
        place = " for group {x}"
    elif array.shape == (X, C, K):
        place = " in group {x}, context {c}"
    else:
        raise SettingsError(
            f"reference: expected shape {(K,)}, {(X, K)} or {(X, C, K)} "
            f"(all, per group, per cell), found {array.shape}"
        )
    with np.errstate(invalid="ignore", over="ignore"):
        sums_to_one = np.abs(array.sum(axis=-1) - 1.0) <= SIMPLEX_TOLERANCE
    is_large_enough = (array >= REFERENCE_FLOOR).all(axis=-1)
    fits = sums_to_one & np.isfinite(array).all(axis=-1) & is_large_enough
    if mask is not None and array.shape == (X, C, K):
        fits |= ~mask
    if not fits.all():
        x, c = (int(i) for i in np.argwhere(~fits)[0])
        found = array[x, c, :8].tolist()
        raise SettingsError(
            f"reference: expected positive shares (at least {REFERENCE_FLOOR:g}) that sum to one, "
            f"found {found}{place.format(x=x, c=c)}; leave out categories that cannot occur"
        )
    return array


def is_even(reference: ArrayLike) -> bool:
    """Return whether a reference expects every category equally often, everywhere."""
    return bool(np.ptp(np.asarray(reference)) < SIMPLEX_TOLERANCE)


def scale(reference: ArrayLike) -> FloatArray:
    """Return max over y of 1/p*_y - 1: the value of J at the worst one-hot prediction.

    J_k is convex, so its maximum over the simplex is at a vertex; there only one category has a
    positive s, and the l^k norm of a single number is that number: the scale is the same for
    every k. It is K - 1 for the uniform reference of K categories.

    Args:
        reference: [.., Y], positive (see `resolve_reference` for the checks).

    Returns:
        [..], greater than 0.

    >>> float(scale([0.5, 0.5])), float(scale([0.75, 0.25]))
    (1.0, 3.0)
    """
    array = np.asarray(as_real(reference, name="reference"), dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] < 2:
        raise SettingsError(
            f"reference: expected at least two categories, found {array.shape}"
        )
    # Category by category: numpy reduces a short last axis many times more slowly.
    least = reduce(np.minimum, np.moveaxis(array, -1, 0))
    if not (least > 0).all():
        raise SettingsError(
            f"reference: expected positive shares, found {float(least.min())}"
        )
    return np.asarray(1.0 / least - 1.0)


def group_mean(
    values: RealArray,
    group_weights: FloatArray,
    mask: BoolArray | None = None,
    *,
    positive: bool = False,
) -> FloatArray:
    """Return the reference of decisions, p* [X,C,K]: what all groups get in the same context, the
    weighted mean over those that were observed in it.

    So s says how a group is treated next to the others: it is 0 in every cell if and only if every
    group is treated alike, in any answer. docs/measure.md works out the scale.

    A category that no group gives has no share to divide by; where a criterion divides, `positive`
    gives it the smallest share allowed, and since no group is above it, it adds nothing to a risk.
    A context without any observed group gets a uniform p*, which nothing is held against.

    >>> p = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])
    >>> group_mean(p, np.array([0.5, 0.5]))[:, 0].round(12).tolist()
    [[0.6, 0.4], [0.6, 0.4]]
    """
    X, C, K = values.shape
    weights = np.asarray(group_weights, dtype=np.float64)[:, None]
    w = np.repeat(weights, C, axis=1)
    p = np.asarray(values, dtype=np.float64)
    if mask is not None:
        w = np.where(mask, w, 0.0)
        p = np.where(mask[..., None], p, 0.0)
    total = w.sum(axis=0)[:, None]
    sums = np.einsum("xc,xck->ck", w, p)
    mean = np.full((C, K), 1.0 / K)
    np.divide(sums, total, out=mean, where=total > 0)
    if positive:
        mean = np.maximum(mean, 2 * REFERENCE_FLOOR)
        mean /= mean.sum(axis=1, keepdims=True)
    return np.broadcast_to(mean, (X, C, K)).copy()
