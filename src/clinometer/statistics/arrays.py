"""Convert arguments to arrays and weights in one place, so that all functions validate alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError

FloatArray = NDArray[np.float64]
RealArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

SIMPLEX_TOLERANCE = 1e-6
"""How far the sum of a row of probabilities may be from one."""

ROUNDING = 1e-12
"""Values below this, smaller than the rounding of the sums, are reported as 0."""

BLOCK = 1 << 16
"""Numbers in one temporary array: small enough for the cache of a core."""


def as_real(values: ArrayLike, *, name: str) -> RealArray:
    """Read an array of real numbers; floating-point input is not copied.

    Ragged lists, text and complex numbers are refused. A numpy masked array is refused as well:
    reading it would turn its hidden values into visible ones.

    >>> as_real([1, 0], name="p")
    array([1., 0.])
    """
    if isinstance(values, np.ma.MaskedArray):
        raise SettingsError(
            f"{name}: expected a plain array, found a masked array; "
            "give its data, and what is missing as mask (True = observed)"
        )
    try:
        array = np.asarray(values)
        if (
            array.dtype.kind == "f"
            and array.dtype.itemsize <= np.dtype(np.float64).itemsize
        ):
            return array
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as exc:
        raise SettingsError(
            f"{name}: expected an array of real numbers, found {exc}"
        ) from exc


def as_list(values: ArrayLike, *, name: str) -> FloatArray:
    """Read a list of real numbers [n] in float64."""
    array = np.asarray(as_real(values, name=name), dtype=np.float64)
    if array.ndim != 1:
        raise SettingsError(
            f"{name}: expected a list of numbers, found shape {array.shape}"
        )
    return array


def as_mask(mask: ArrayLike | None, shape: tuple[int, int]) -> BoolArray | None:
    """Read a mask of observed cells [X,C] (True = observed); None means that all are.

    A mask of shape [C] is accepted for one group.
    """
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise SettingsError(
            f"mask: expected booleans (True = observed), found {array.dtype}; convert it with == 1"
        )
    if array.ndim == 1 and shape[0] == 1:
        array = array[None]
    if array.shape != shape:
        raise SettingsError(
            f"mask: expected one value for each group and context, shape {shape}, "
            f"found shape {array.shape}"
        )
    return array


def as_labels(labels: Sequence[str] | None, n: int, *, name: str) -> tuple[str, ...]:
    """Read n distinct labels; None gives "0", "1", and so on.

    >>> as_labels(None, 2, name="groups")
    ('0', '1')
    """
    if labels is None:
        return tuple(str(i) for i in range(n))
    if isinstance(labels, str):
        raise SettingsError(
            f"{name}: expected a sequence of {n} labels, found the text {labels!r}"
        )
    texts = tuple(str(label) for label in labels)
    if len(texts) != n:
        raise SettingsError(
            f"{name}: expected {n} labels, one each, found {len(texts)}"
        )
    if len(set(texts)) != n:
        repeated = next(label for label in texts if texts.count(label) > 1)
        raise SettingsError(
            f"{name}: expected distinct labels, found {repeated!r} more than once"
        )
    return texts


def read_only(array: FloatArray) -> FloatArray:
    """Make an array read-only, since the content of a report must not change, and return it."""
    array.setflags(write=False)
    return array


def plain(value: float | np.float64) -> float | None:
    """Return a float, or None for NaN: our files never contain NaN."""
    return None if np.isnan(value) else float(value)


def snap(values: FloatArray, tolerance: float = ROUNDING) -> FloatArray:
    """Return values, of which those smaller in size than `tolerance` are exactly 0; NaN stays.

    >>> snap(np.array([-1e-16, 0.5])).tolist()
    [0.0, 0.5]
    """
    return np.where(np.abs(values) < tolerance, 0.0, values)


def blocks(shape: tuple[int, int], *, depth: int = 1) -> Iterator[tuple[slice, slice]]:
    """Split a grid [X,C] with `depth` numbers per cell into blocks of about BLOCK numbers.

    The cut along the contexts depends on C and depth alone, so the order of every sum over
    contexts, hence its rounding, is the same for each group and each run.

    >>> list(blocks((1, 3)))
    [(slice(0, 1, None), slice(0, 3, None))]
    """
    cells = max(1, BLOCK // max(1, depth))
    columns = max(1, min(shape[1], cells))
    rows = max(1, cells // columns)
    for x in range(0, shape[0], rows):
        for c in range(0, shape[1], columns):
            yield (
                slice(x, min(x + rows, shape[0])),
                slice(c, min(c + columns, shape[1])),
            )
