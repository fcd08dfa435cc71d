"""The criterion J: how much a stereotype counts as risk (Eq. 2, 9, 10)."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray, as_number, as_real


class RiskScale(TypedDict, total=False):
    """The scale of risks: keywords of every measure, as `decompose` describes them."""

    norm: float
    normalize: bool


def read_scale(norm: float = np.inf, normalize: bool = True) -> tuple[float, bool]:
    """norm (checked) and normalize of a `RiskScale`, with the defaults of all measures.

    >>> read_scale(**RiskScale(norm=2))
    (2.0, True)
    """
    return checked_norm(norm), normalize


def criterion(s: ArrayLike, norm: float = np.inf) -> FloatArray:
    """J_k(s) = (sum over y of (s_y⁺)^k)^(1/k); the maximum of s_y⁺ for k = inf.

    Args:
        s: [.., Y] stereotypes; s⁺ = max(s, 0) leaves anti-stereotypes out.
        norm: k, any real number from 1 to inf. The larger, the more the worst category counts.

    Returns:
        [..], at least 0. It is 0 when no category is above its reference, and does not grow
        with k. J is convex and J(a s) = a J(s) for a >= 0.

    NaN in s gives NaN. A norm below 1 (not convex) or NaN is an error, and so is an s without
    categories.

    >>> s = [0.3, 0.4, -0.7]
    >>> [round(float(criterion(s, k)), 12) for k in (1, 2, np.inf)]
    [0.7, 0.5, 0.4]
    """
    k = checked_norm(norm)
    array = np.asarray(as_real(s, name="s"), dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise SettingsError(f"s: expected categories on the last axis, found shape {array.shape}")
    # Category by category: numpy reduces a short last axis many times more slowly.
    positive = [np.maximum(array[..., y], 0.0) for y in range(array.shape[-1])]
    if k == 1:
        return np.asarray(sum(positive))
    top = positive[0]
    for part in positive[1:]:
        top = np.maximum(top, part)
    if np.isinf(k):
        return np.asarray(top)
    # Factoring out the largest avoids overflow and returns a single positive s exactly.
    divisor = np.where(top > 0, top, 1.0)
    return np.asarray(top * sum((part / divisor) ** k for part in positive) ** (1.0 / k))


def slope(at: FloatArray, along: FloatArray, norm: float) -> FloatArray:
    """The gradient of J_k at `at` times `along`, [..,K] -> [..]; 0 where no category is positive.

    `along` may have more dimensions in front than `at`.

    >>> float(slope(np.array([0.2, -0.2]), np.array([0.5, -0.5]), np.inf))
    0.5
    """
    value = gradient(at, norm)
    return np.asarray(sum(value[..., y] * along[..., y] for y in range(at.shape[-1])))


def gradient(at: FloatArray, norm: float) -> FloatArray:
    """The gradient of J_k, [..,K] -> [..,K]; 0 where no category is positive.

    Where two categories tie for the maximum (k = inf), that of the first.

    >>> gradient(np.array([0.3, 0.4, -0.7]), 2).round(12).tolist()
    [0.6, 0.8, 0.0]
    """
    value = np.zeros(at.shape)
    if np.isinf(norm):
        first = np.argmax(at, axis=-1)[..., None]
        np.put_along_axis(value, first, 1.0, axis=-1)
        return np.asarray(value * (np.take_along_axis(at, first, -1) > 0))
    size = criterion(at, norm)
    divisor = np.where(size > 0, size, 1.0)
    for y in range(at.shape[-1]):
        part = np.maximum(at[..., y], 0.0) / divisor
        value[..., y] = np.where(part > 0, part ** (norm - 1.0), 0.0)
    return value


def checked_norm(norm: float) -> float:
    """The norm k as a float, or an error if it is not a number from 1 to inf."""
    k = as_number(norm)
    if k >= 1:
        return k
    raise SettingsError(f"norm: expected a number from 1 to inf, found {norm!r}")
