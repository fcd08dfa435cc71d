"""The criterion J: how much a departure from the reference counts as risk (Eq. 1, 2, 9, 10).

`Criterion` is one way to turn preferences and their reference into a risk; `choose_criterion` takes
the one that fits the question. A grid has one, and every measure of that grid uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError, closest
from clinometer.measure.stereotype import scale
from clinometer.settings import Range
from clinometer.statistics.arrays import FloatArray, as_real

#: What R is under each criterion, as a sentence says it.
CRITERIA = {
    "ratio": "distance from the reference, from 0 to 1 (always the same answer)",
    "released": "sum of s⁺ divided by 5, from 0 to 0.2, as the authors' code has it",
    "share": "share of answers that would have to change",
    "points": "share of the rating scale by which answers would have to move",
}


#: k of J_k; below 1 it is not convex.
NORM = Range(least=1, also=(np.inf,))
#: The ratio of the paper's raw equations, which is not scaled to end at 1.
RAW = "raw"
#: Those of s = p/p* - 1.
_RATIOS = ("ratio", "released")
#: What the authors' code divides the sum of s⁺ by: the categories of race.
_RELEASED = 5.0


@dataclass(frozen=True)
class Criterion:
    """One way to count a departure from the reference as risk.

    name       "ratio": s = p/p* - 1 and J_k(s), the paper's, for an even reference.
               "released": the same s, normalised, and J(s) = sum of s⁺ / 5, the function of the
               authors' code (calculate.py), which ends at 0.2 instead of 1.
               "share": s = p - p* and J(s) = sum of s⁺, the total variation of p and p*: the share
               of answers that would have to change. A category that hardly occurs cannot dominate.
               "points": s = p - p*, and J(s) is the Wasserstein distance of p and p* on a scale of
               numbers, divided by the length of that scale.
    norm       k of J_k; of "ratio" only
    normalize  divide s by `scale(p*)`, so that 1 is the risk of always giving the least expected
               category; of "ratio" only
    points     [K], the numbers of the categories in rising order; of "points" only

    All are convex in p and 0 at the reference, so that r >= r^b and R = R^b + R^v.

    >>> float(Criterion("share")(np.array([0.3, -0.3])))
    0.3
    >>> Criterion("points", points=(1, 2, 5)).length
    4
    """

    name: str = "ratio"
    norm: float = np.inf
    normalize: bool = True
    points: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in CRITERIA:
            raise SettingsError(
                f"criterion: expected {', '.join(CRITERIA)}; found {self.name!r}"
            )
        NORM.check("norm", self.norm)
        object.__setattr__(self, "norm", float(self.norm))
        if self.name == "released" and self.norm == np.inf:
            object.__setattr__(self, "norm", 1.0)
        fixed = 1.0 if self.name == "released" else np.inf
        if self.name != "ratio" and (self.norm != fixed or not self.normalize):
            raise SettingsError(
                f"criterion: norm and raw equations belong to ratio, found {self.name}; leave them "
                "out, or ask for ratio"
            )
        if self.name == "points" and not (
            len(self.points) > 1
            and (np.diff(np.array(self.points, dtype=float)) > 0).all()
        ):
            raise SettingsError(
                "criterion: expected the categories to be numbers in rising order for points, "
                f"found {list(self.points) or 'names'}; use share"
            )

    @property
    def length(self) -> float:
        """Of the scale of points; 1 for the other criteria, whose risks have no unit."""
        return self.points[-1] - self.points[0] if self.points else 1

    @property
    def top(self) -> float:
        """What no risk exceeds."""
        return 1.0 / self._divisor if self.normalize else np.inf

    @property
    def _divisor(self) -> float:
        return _RELEASED if self.name == "released" else 1.0

    @property
    def gaps(self) -> FloatArray:
        """[K-1], between the points of a scale, as shares of its length; none without a scale."""
        return np.asarray(np.diff(np.array(self.points, dtype=float)) / self.length)

    def stereotypes(self, p: FloatArray, star: FloatArray) -> FloatArray:
        """s [..,K] of preferences p [..,K] and a reference that broadcasts to them.

        Stored category by category, so that sums over contexts run over adjacent memory.
        """
        K = p.shape[-1]
        s = np.empty((K, *np.broadcast_shapes(p.shape, star.shape)[:-1]))
        for y in range(K):
            if self.name not in _RATIOS:
                np.subtract(p[..., y], star[..., y], out=s[y, ...])
                continue
            np.divide(p[..., y], star[..., y], out=s[y, ...])
            s[y] -= 1.0
        if self.name in _RATIOS and self.normalize:
            s /= scale(star)
        return np.moveaxis(s, 0, -1)

    def worth(self, star: FloatArray) -> FloatArray:
        """[..,K], what a share of 1 more of a category adds to its s, which is linear in p."""
        none = np.zeros_like(star)
        return self.stereotypes(none + 1.0, star) - self.stereotypes(none, star)

    def __call__(self, s: FloatArray) -> FloatArray:
        """J of stereotypes, [..,K] -> [..]."""
        if self.name == "points":
            below = np.cumsum(np.moveaxis(s, -1, 0)[:-1], axis=0)
            return np.tensordot(self.gaps, np.abs(below), axes=1)
        return criterion(s, 1.0 if self.name == "share" else self.norm) / self._divisor

    def gradient(self, at: FloatArray) -> FloatArray:
        """The gradient of J at s, [..,K] -> [..,K]; 0 in a direction in which J has a kink. Where
        two categories tie for the maximum, that of the first.

        >>> Criterion(norm=2).gradient(np.array([0.3, 0.4, -0.7])).round(12).tolist()
        [0.6, 0.8, 0.0]
        """
        value = np.zeros_like(at)
        if self.name == "points":
            steps = self.gaps * np.sign(np.cumsum(at, axis=-1)[..., :-1])
            value[..., :-1] = np.cumsum(steps[..., ::-1], axis=-1)[..., ::-1]
        elif self.name == "share" or self.norm == 1:
            value[at > 0] = 1.0 / self._divisor
        elif np.isinf(self.norm):
            first = np.argmax(at, axis=-1)[..., None]
            np.put_along_axis(
                value, first, 1.0 * (np.take_along_axis(at, first, -1) > 0), axis=-1
            )
        else:
            size = self(at)
            divisor = np.where(size > 0, size, 1.0)[..., None]
            value = (np.maximum(at, 0.0) / divisor) ** (self.norm - 1.0)
        return np.asarray(value)

    def slope(self, at: FloatArray, along: FloatArray) -> FloatArray:
        """The gradient at s times `along`, [..,K] -> [..]; `along` may have more dimensions in
        front."""
        value = self.gradient(at)
        return np.asarray(
            sum(value[..., y] * along[..., y] for y in range(at.shape[-1]))
        )

    def error(self, off: FloatArray, star: FloatArray) -> FloatArray:
        """The most by which J can be off where no preference is off by more than `off` [..]."""
        if self.name in _RATIOS:
            d = off[..., None] / star
            d = d / scale(star)[..., None] if self.normalize else d
            return criterion(d, self.norm) / self._divisor
        # Preferences sum to one: what some gain, the others lose.
        return np.asarray(np.minimum(off * (star.shape[-1] / 2), 1.0))

    def bounds(
        self, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the most that J can be for s between low and high, [..,K] -> [..]."""
        if self.name in _RATIOS:
            return self(low), self(high)
        if self.name == "share":  # what is above the reference is missing below it
            least = np.maximum(criterion(low, 1.0), criterion(-high, 1.0))
            return least, np.minimum(criterion(high, 1.0), criterion(-low, 1.0))
        below = [np.cumsum(end[..., :-1], axis=-1) for end in (low, high)]
        above = [np.cumsum(end[..., :0:-1], axis=-1)[..., ::-1] for end in (low, high)]
        least, most = np.maximum(below[0], -above[1]), np.minimum(below[1], -above[0])
        gaps = self.gaps
        nearest = np.maximum(np.maximum(least, -most), 0.0)
        return nearest @ gaps, np.maximum(np.abs(least), np.abs(most)) @ gaps

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON; no infinity."""
        known: dict[str, Any] = {"criterion": self.name}
        if self.name == "ratio":
            known["norm"] = "inf" if np.isinf(self.norm) else self.norm
            known["normalized"] = self.normalize
        if self.points:
            known["points"] = list(self.points)
        return known


def parse_criterion(text: str) -> tuple[str, float, bool]:
    """A criterion as it is written, as name, norm and whether s is normalised.

    "raw" is the ratio of the paper's raw equations, and ":k" after either is the norm.

    >>> parse_criterion("ratio"), parse_criterion("raw:2"), parse_criterion("share")
    (('ratio', inf, True), ('ratio', 2.0, False), ('share', inf, True))
    """
    name, colon, norm = text.partition(":")
    if name not in (*CRITERIA, RAW):
        known = (*CRITERIA, RAW)
        raise SettingsError(
            f"criterion: expected one of {', '.join(known)}; found {text!r}{closest(name, known)}"
        )
    if not colon:
        return "ratio" if name == RAW else name, np.inf, name != RAW
    try:
        k = float(norm)
    except ValueError:
        k = np.nan
    if name not in ("ratio", RAW) or not k >= 1:
        raise SettingsError(
            f"criterion: expected a norm of at least 1, or inf, such as ratio:2 or {RAW}:1; found "
            f"{text!r}"
        )
    return "ratio", k, name != RAW


def choose_criterion(
    name: str | Criterion | None,
    *,
    even: bool,
    categories: Sequence[str],
) -> Criterion:
    """The criterion that was asked for (`parse_criterion`), or the one that fits the question: an
    even reference has the paper's ratio, every other one the share of answers.

    >>> choose_criterion(None, even=False, categories=("yes", "no")).name
    'share'
    """
    if isinstance(name, Criterion):
        return name
    if name is None:
        name = "ratio" if even else "share"
    name, norm, normalize = parse_criterion(name)
    if name == "released" and not even:
        raise SettingsError(
            "criterion: released is measured from an even split, found another reference; use share"
        )
    points: tuple[float, ...] = ()
    if name == "points":
        with suppress(ValueError):  # which `Criterion` says
            points = tuple(float(category) for category in categories)
    return Criterion(name, norm, normalize, points)


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
    top = reduce(np.maximum, positive)
    if np.isinf(norm):
        return np.asarray(top)
    # Factoring out the largest avoids overflow and returns a single positive s exactly.
    divisor = np.where(top > 0, top, 1.0)
    return np.asarray(
        top * sum((part / divisor) ** norm for part in positive) ** (1.0 / norm)
    )
