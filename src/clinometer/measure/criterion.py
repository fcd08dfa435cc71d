"""The criterion J: how much a departure from the reference counts as risk (Eq. 1, 2, 9, 10).

`Criterion` is one way to turn preferences and their reference into a risk; `choose_criterion` takes
the one that fits the question. A grid has one, and every measure of that grid uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError, closest
from clinometer.measure.stereotype import scale
from clinometer.settings import Range
from clinometer.statistics.arrays import FloatArray, as_real

CRITERIA = {
    "ratio": "distance from the reference, from 0 to 1 (always the same answer)",
    "released": "sum of s⁺ divided by 5, from 0 to 0.2, as the authors' code has it",
    "share": "share of answers that would have to change",
    "points": "share of the rating scale by which answers would have to move",
}
"""What R is under each criterion, as a sentence says it."""

NORM = Range(least=1, also=(np.inf,))
"""k of J_k; below 1 it is not convex."""

RAW = "raw"
"""The ratio of the paper's raw equations, which is not scaled to end at 1."""

_RATIOS = ("ratio", "released")
"""The criteria of s = p/p* - 1."""

_RELEASED = 5.0
"""What the authors' code divides the sum of s⁺ by: the categories of race."""


class RiskRange(NamedTuple):
    """The least and the most that J can be, [..] each."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Criterion:
    """One way to count a departure from the reference as risk.

    All are convex in p and 0 at the reference, so that r >= r^b and R = R^b + R^v.

    >>> float(Criterion("share")(np.array([0.3, -0.3])))
    0.3
    >>> Criterion("points", points=(1, 2, 5)).length
    4
    """

    name: str = "ratio"
    """Which way.

    "ratio": s = p/p* - 1 and J_k(s), the paper's, for an even reference.
    "released": the same s, normalised, and J(s) = sum of s⁺ / 5, the function of the authors' code
    (calculate.py), which ends at 0.2 instead of 1.
    "share": s = p - p* and J(s) = sum of s⁺, the total variation of p and p*: the share of answers
    that would have to change. A category that hardly occurs cannot dominate.
    "points": s = p - p*, and J(s) is the Wasserstein distance of p and p* on a scale of numbers,
    divided by the length of that scale.
    """

    norm: float = np.inf
    """k of J_k; of "ratio" only."""

    normalize: bool = True
    """Whether s is divided by `scale(p*)`, so that 1 is the risk of always giving the least
    expected category; of "ratio" only."""

    points: tuple[float, ...] = ()
    """[K], the numbers of the categories in rising order; of "points" only."""

    def __post_init__(self) -> None:
        """Refuse unknown names, and options that belong to another criterion."""
        if self.name not in CRITERIA:
            raise SettingsError(
                f"criterion: expected {', '.join(CRITERIA)}; found {self.name!r}"
            )
        NORM.check("norm", self.norm)
        object.__setattr__(self, "norm", float(self.norm))
        if self.name == "released" and self.norm == np.inf:
            object.__setattr__(self, "norm", 1.0)
        own_norm = 1.0 if self.name == "released" else np.inf
        if self.name != "ratio" and (self.norm != own_norm or not self.normalize):
            raise SettingsError(
                f"criterion: norm and raw equations belong to ratio, found {self.name}; leave them "
                "out, or ask for ratio"
            )
        if self.name == "points" and not _is_rising(self.points):
            raise SettingsError(
                "criterion: expected the categories to be numbers in rising order for points, "
                f"found {list(self.points) or 'names'}; use share"
            )

    @property
    def length(self) -> float:
        """Return the length of the scale of points; 1 for the other criteria, whose risks have no
        unit."""
        if not self.points:
            return 1
        return self.points[-1] - self.points[0]

    @property
    def top(self) -> float:
        """Return what no risk exceeds."""
        if not self.normalize:
            return np.inf
        return 1.0 / self._divisor

    @property
    def _divisor(self) -> float:
        return _RELEASED if self.name == "released" else 1.0

    @property
    def gaps(self) -> FloatArray:
        """Return the gaps between the points of a scale as shares of its length, [K-1]; none
        without a scale."""
        return np.asarray(np.diff(np.array(self.points, dtype=float)) / self.length)

    def stereotypes(self, p: FloatArray, star: FloatArray) -> FloatArray:
        """Return s [..,K] of preferences p [..,K] and a reference that broadcasts to them.

        Stored category by category, so that sums over contexts run over adjacent memory.
        """
        K = p.shape[-1]
        s = np.empty((K, *np.broadcast_shapes(p.shape, star.shape)[:-1]))
        for y in range(K):
            if self.name in _RATIOS:
                np.divide(p[..., y], star[..., y], out=s[y, ...])
                s[y] -= 1.0
            else:
                np.subtract(p[..., y], star[..., y], out=s[y, ...])
        if self.name in _RATIOS and self.normalize:
            s /= scale(star)
        return np.moveaxis(s, 0, -1)

    def worth(self, star: FloatArray) -> FloatArray:
        """Return what a share of 1 more of a category adds to its s [..,K]; s is linear in p."""
        no_share = np.zeros_like(star)
        return self.stereotypes(no_share + 1.0, star) - self.stereotypes(no_share, star)

    def __call__(self, s: FloatArray) -> FloatArray:
        """Return J of stereotypes, [..,K] -> [..]."""
        if self.name == "points":
            by_category = np.moveaxis(s, -1, 0)
            at_or_below = np.cumsum(by_category[:-1], axis=0)
            return np.tensordot(self.gaps, np.abs(at_or_below), axes=1)
        norm = 1.0 if self.name == "share" else self.norm
        return criterion(s, norm) / self._divisor

    def gradient(self, at: FloatArray) -> FloatArray:
        """Return the gradient of J at s, [..,K] -> [..,K]; 0 in a direction in which J has a kink.

        Where two categories tie for the maximum, that of the first.

        >>> Criterion(norm=2).gradient(np.array([0.3, 0.4, -0.7])).round(12).tolist()
        [0.6, 0.8, 0.0]
        """
        if self.name == "points":
            return self._gradient_of_points(at)
        if self.name == "share" or self.norm == 1:
            return np.where(at > 0, 1.0 / self._divisor, 0.0)
        if np.isinf(self.norm):
            gradient = np.zeros_like(at)
            first = np.argmax(at, axis=-1)[..., None]
            is_positive = 1.0 * (np.take_along_axis(at, first, -1) > 0)
            np.put_along_axis(gradient, first, is_positive, axis=-1)
            return gradient
        size = self(at)
        divisor = np.where(size > 0, size, 1.0)[..., None]
        return np.asarray((np.maximum(at, 0.0) / divisor) ** (self.norm - 1.0))

    def _gradient_of_points(self, at: FloatArray) -> FloatArray:
        """Return the gradient of the Wasserstein distance: a category moves the shares at or below
        every later point."""
        at_or_below = np.cumsum(at, axis=-1)[..., :-1]
        steps = self.gaps * np.sign(at_or_below)
        gradient = np.zeros_like(at)
        gradient[..., :-1] = np.cumsum(steps[..., ::-1], axis=-1)[..., ::-1]
        return gradient

    def slope(self, at: FloatArray, along: FloatArray) -> FloatArray:
        """Return the gradient at s times `along`, [..,K] -> [..]; `along` may have more dimensions
        in front."""
        gradient = self.gradient(at)
        # Category by category: numpy reduces a short last axis many times more slowly.
        products = [gradient[..., y] * along[..., y] for y in range(at.shape[-1])]
        return np.asarray(sum(products))

    def error(self, off: FloatArray, star: FloatArray) -> FloatArray:
        """Return the most by which J can be off where no preference is off by more than `off`
        [..]."""
        if self.name not in _RATIOS:
            # Preferences sum to one: what some gain, the others lose.
            return np.asarray(np.minimum(off * (star.shape[-1] / 2), 1.0))
        errors = off[..., None] / star
        if self.normalize:
            errors = errors / scale(star)[..., None]
        return criterion(errors, self.norm) / self._divisor

    def bounds(self, low: FloatArray, high: FloatArray) -> RiskRange:
        """Return the range of J for s between low and high, [..,K] -> [..]."""
        if self.name in _RATIOS:
            return RiskRange(self(low), self(high))
        if self.name == "share":  # what is above the reference is missing below it
            least = np.maximum(criterion(low, 1.0), criterion(-high, 1.0))
            most = np.minimum(criterion(high, 1.0), criterion(-low, 1.0))
            return RiskRange(least, most)
        # What is at or below a point is missing above it.
        least_below = np.maximum(_sums_up_to(low), -_sums_beyond(high))
        most_below = np.minimum(_sums_up_to(high), -_sums_beyond(low))
        nearest = np.maximum(np.maximum(least_below, -most_below), 0.0)
        farthest = np.maximum(np.abs(least_below), np.abs(most_below))
        return RiskRange(nearest @ self.gaps, farthest @ self.gaps)

    def to_dict(self) -> dict[str, Any]:
        """Return the criterion as plain values for JSON; no infinity."""
        fields: dict[str, Any] = {"criterion": self.name}
        if self.name == "ratio":
            fields["norm"] = "inf" if np.isinf(self.norm) else self.norm
            fields["normalized"] = self.normalize
        if self.points:
            fields["points"] = list(self.points)
        return fields


def _is_rising(points: Sequence[float]) -> bool:
    """Return whether there are two points at least, each larger than the one before."""
    gaps = np.diff(np.array(points, dtype=float))
    return len(points) > 1 and bool((gaps > 0).all())


def _sums_up_to(s: FloatArray) -> FloatArray:
    """Return the sums of s over the categories up to each, but for the last, [..,K-1]."""
    return np.asarray(np.cumsum(s[..., :-1], axis=-1))


def _sums_beyond(s: FloatArray) -> FloatArray:
    """Return the sums of s over the categories after each, but for the last, [..,K-1]."""
    return np.asarray(np.cumsum(s[..., :0:-1], axis=-1)[..., ::-1])


class CriterionText(NamedTuple):
    """A criterion as it is written."""

    name: str
    norm: float = np.inf
    normalize: bool = True


def parse_criterion(text: str) -> CriterionText:
    """Read a criterion as it is written: name, norm and whether s is normalised.

    "raw" is the ratio of the paper's raw equations, and ":k" after either is the norm.

    >>> parse_criterion("raw:2")
    CriterionText(name='ratio', norm=2.0, normalize=False)
    >>> parse_criterion("share")
    CriterionText(name='share', norm=inf, normalize=True)
    """
    name, colon, norm = text.partition(":")
    names = (*CRITERIA, RAW)
    if name not in names:
        raise SettingsError(
            f"criterion: expected one of {', '.join(names)}; found {text!r}{closest(name, names)}"
        )
    is_ratio = name in ("ratio", RAW)
    normalize = name != RAW
    if not colon:
        return CriterionText("ratio" if is_ratio else name, normalize=normalize)
    try:
        k = float(norm)
    except ValueError:
        k = np.nan
    if not is_ratio or not k >= 1:
        raise SettingsError(
            f"criterion: expected a norm of at least 1, or inf, such as ratio:2 or {RAW}:1; found "
            f"{text!r}"
        )
    return CriterionText("ratio", k, normalize)


def choose_criterion(
    name: str | Criterion | None,
    *,
    even: bool,
    categories: Sequence[str],
) -> Criterion:
    """Return the criterion that was asked for (`parse_criterion`), or the one that fits the
    question: an even reference has the paper's ratio, every other one the share of answers.

    >>> choose_criterion(None, even=False, categories=("yes", "no")).name
    'share'
    """
    if isinstance(name, Criterion):
        return name
    if name is None:
        name = "ratio" if even else "share"
    chosen = parse_criterion(name)
    if chosen.name == "released" and not even:
        raise SettingsError(
            "criterion: released is measured from an even split, found another reference; use share"
        )
    points: tuple[float, ...] = ()
    if chosen.name == "points":
        with suppress(ValueError):  # which `Criterion` says
            points = tuple(float(category) for category in categories)
    return Criterion(chosen.name, chosen.norm, chosen.normalize, points)


def criterion(s: ArrayLike, norm: float = np.inf) -> FloatArray:
    """Return J_k(s) = (sum over y of (s_y⁺)^k)^(1/k); the maximum of s_y⁺ for k = inf.

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
    NORM.check("norm", norm)
    array = np.asarray(as_real(s, name="s"), dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise SettingsError(
            f"s: expected categories on the last axis, found shape {array.shape}"
        )
    # Category by category: numpy reduces a short last axis many times more slowly.
    positive = [np.maximum(array[..., y], 0.0) for y in range(array.shape[-1])]
    if norm == 1:
        return np.asarray(sum(positive))
    largest = reduce(np.maximum, positive)
    if np.isinf(norm):
        return np.asarray(largest)
    # Factoring out the largest avoids overflow and returns a single positive s exactly.
    divisor = np.where(largest > 0, largest, 1.0)
    powers = [(part / divisor) ** norm for part in positive]
    return np.asarray(largest * sum(powers) ** (1.0 / norm))
