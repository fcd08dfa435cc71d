"""Preferences counted from sampled answers: counting noise inflates every risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.stereotype import REFERENCE_FLOOR
from clinometer.statistics.arrays import FloatArray, as_real

Counts = np.ndarray[tuple[int, int], np.dtype[np.int64]]

THINNINGS, LEAST_THINNED = 32, 20_000
"""Random thinnings per cell, and of all cells together: enough that they add far less noise than
the answers themselves."""

LIKE = 200_000
"""Cells to make from a fitted distribution: what it leaves is then known to about 0.001. Of more
than five categories a tenth of them, known to about 0.003."""

LEAST_SPREAD, MOST_SPREAD = 0.002, 0.98
"""Of fitted distributions, as a share of the largest variance."""

NEARBY = 0.25
"""The slope in the fitted spread is taken over this share of it, or of what counting adds."""

LONG = 10
"""Points of a scale beyond which answers are fitted as shifts of one distribution."""

WHOLE = 1e-3
"""How far p × samples may be from a whole number."""


def sampled_correction(grid: PreferenceGrid, samples: ArrayLike) -> FloatArray:
    """J of each cell [X,C], corrected for preferences that are shares of m sampled answers.

    A share of m answers scatters around the model's preference, and J, being convex, counts that
    scatter as risk: h(m) = E J = h(inf) + a/m + b/m² + ... Leaving out answers at random gives
    unbiased estimates of h at m/3 and 2m/3; a curve through these and h(m) is extrapolated to
    m = inf. For K = 2 an even m counts as m + 1 (h(2i) = h(2i + 1)).

    Args:
        grid: preferences [X,C,Y] that are shares: p × samples are whole numbers.
        samples: number of answers per cell: a number, [C] or [X,C]; at least 2.

    Returns:
        [X,C], unbiased up to 1/m³; single cells scatter and may lie outside 0 to 1, so only means
        over cells are useful. Cells in which every answer was the same are unchanged. Missing
        cells are NaN. Thinning is random with a fixed seed: same input, same output.

    Fewer answers than `least_answers(K)` on average are an error.

    >>> from clinometer.measure.grid import read_preferences
    >>> rng = np.random.default_rng(0)
    >>> p = rng.binomial(10, rng.beta(5, 5, 4000)) / 10        # E J = 0.246
    >>> cells = np.stack([p, 1 - p], axis=-1)
    >>> better = sampled_correction(read_preferences(cells), 10)
    >>> round(float(np.abs(2 * p - 1).mean()), 2), round(float(better.mean()), 2)
    (0.34, 0.25)
    """
    answers = _Answers.of(grid, samples)
    out = answers.everywhere(answers.extrapolated()).T
    return out if grid.mask is None else np.where(grid.mask, out, np.nan)


def fitted_correction(grid: PreferenceGrid, samples: ArrayLike) -> tuple[FloatArray, float]:
    """The same [C,X] less what the curve leaves, and by how much that may be wrong.

    What it leaves is measured on answers made from distributions fitted to these: halfway between
    Dirichlet and logistic-normal ones; on a long scale, halfway between two kinds of shifts of what
    cells have in common. Half the difference of the two is the second result.
    """
    answers = _Answers.of(grid, samples)
    found = answers.extrapolated()
    if not found.size:
        return answers.everywhere(found), 0.0
    long = len(grid.criterion.points) > LONG
    spread: _Spread | _Located = _Located.of(answers) if long else _Spread.of(answers)
    away = NEARBY * max(spread.kept, spread.counting)
    low, high = max(spread.kept - away, spread.least), spread.kept + away
    below, first, above = (answers.left(spread.first(k)) for k in (low, spread.kept, high))
    second = answers.left(spread.second())
    # The fitted spread is itself an estimate: a cell moves what is left by its part in it.
    own = spread.influence * (above - below) / (high - low)
    return answers.everywhere(found - (first + second) / 2 - own), abs(first - second) / 2


@dataclass(frozen=True, eq=False)
class _Answers:
    """The n observed cells of a grid as counts of answers.

    Attributes:
        shape, place: (C, X), and where in it each cell lies.
        counts, m: [n,K] and [n], answers of each category, and in all.
        star: [n,K], reference of each cell; where it is the mean over the groups, `weights` [n]
            are those of the groups, and every thinning has its own.
        criterion: J.
        rng: for thinning, with a fixed seed.
    """

    shape: tuple[int, int]
    place: tuple[NDArray[np.intp], ...]
    counts: Counts
    m: NDArray[np.int64]
    star: FloatArray
    weights: FloatArray | None
    criterion: Criterion
    rng: np.random.Generator

    @classmethod
    def of(cls, grid: PreferenceGrid, samples: ArrayLike) -> _Answers:
        (X, C), K, reference = grid.shape, len(grid.categories), grid.reference
        seen = np.ones((C, X), dtype=bool) if grid.mask is None else grid.mask.T
        place = np.nonzero(seen)
        m = _samples(samples, (X, C)).T[place]
        least = least_answers(K, grid.criterion.points)
        if m.size and (typical := float(m.mean())) < least:
            raise SettingsError(
                f"samples: expected at least {least} answers per cell for {K} "
                f"categories, found {typical:.1f} on average; sample more answers"
            )
        values = np.moveaxis(np.asarray(grid.values, dtype=np.float64), 0, 1)[place]
        exact = values * m[:, None]
        counts = np.round(exact).astype(np.int64)
        off = (np.abs(exact - counts).max(axis=-1, initial=0.0) > WHOLE) | (
            counts.sum(axis=-1) != m
        )
        if off.any():
            i = int(np.argmax(off))
            raise SettingsError(
                f"samples: expected p × samples to be whole numbers, found {exact[i].tolist()} "
                f"in group {place[1][i]}, context {place[0][i]}; give the number of answers each "
                "cell rests on"
            )
        star = np.broadcast_to(np.moveaxis(reference, 0, 1), (C, X, K))[place]
        weights = grid.group_weights[place[1]] if grid.relative else None
        rng = np.random.default_rng(0)
        return cls((C, X), place, counts, m, star, weights, grid.criterion, rng)

    def everywhere(self, values: FloatArray) -> FloatArray:
        """Values of the cells, [C,X], 0 elsewhere."""
        out = np.zeros(self.shape)
        out[self.place] = values
        return out

    def risk(self, shares: FloatArray) -> FloatArray:
        """J of preferences [N,K] of all cells, once or several times over."""
        many = shares.reshape(-1, *self.star.shape)
        star = self.star[None]
        if self.weights is not None:  # the reference scatters with the answers that it is made of
            _, first, which = np.unique(self.place[0], return_index=True, return_inverse=True)
            total = np.add.reduceat(self.weights, first)
            star = np.add.reduceat(self.weights[:, None] * many, first, axis=1)
            star /= np.where(total > 0, total, 1.0)[:, None]
            star = np.maximum(star, REFERENCE_FLOOR)[:, which]
        return self.criterion(self.criterion.stereotypes(many, star)).reshape(len(shares))

    @cached_property
    def curve(self) -> list[tuple[NDArray[np.int64], FloatArray]]:
        """Three times, of each cell [n]: a number of answers, rising to m, and its factor."""
        nodes = np.empty((3, len(self.m)), dtype=np.int64)
        factors = np.zeros((3, len(self.m)))
        for total in np.unique(self.m):
            some = self.m == total
            at, factor = extrapolation(int(total), self.counts.shape[1])
            nodes[:, some] = np.array([*[at[0]] * (3 - len(at)), *at])[:, None]
            factors[-len(at) :, some] = factor[:, None]
        return list(zip(nodes, factors, strict=True))

    def extrapolated(self) -> FloatArray:
        """J of each cell [n] at infinitely many answers."""
        n, (*fewer, (_, last)) = len(self.counts), self.curve
        out = last * self.risk(self.counts / self.m[:, None])
        thinnings = max(THINNINGS, -(-LEAST_THINNED // max(n, 1)))
        at_once = max(1, 10 * LIKE // max(self.counts.size, 1))
        for times in (min(at_once, thinnings - i) for i in range(0, thinnings, at_once)):
            counts = np.tile(self.counts, (times, 1))
            for node, factor in fewer:
                some = np.tile(node, times)
                risks = self.risk(thin(counts, some, self.rng) / some[:, None])
                out += factor / thinnings * risks.reshape(times, n).sum(axis=0)
        return out

    def left(self, p: FloatArray) -> float:
        """What the curve leaves on average of preferences [N,K] made for all cells, once or several
        times over."""
        times, counts, out = len(p) // len(self.m), np.zeros(p.shape), -self.risk(p)
        before = np.zeros(len(p), dtype=np.int64)
        for node, factor in self.curve:  # the answers of a node are among those of the next
            some = np.tile(node, times)
            counts += self.rng.multinomial(some - before, p)
            out += np.tile(factor, times) * self.risk(counts / some[:, None])
            before = some
        return float(out.mean())


@dataclass(frozen=True, eq=False)
class _Spread:
    """How far the preferences of a group's cells spread around their mean, beyond counting.

    Attributes:
        mean: [n,K], mean share of the group of each cell; relative to the groups, of its context
            with the lean of its group.
        kept: variance as a share of the largest that these means allow; one for all groups.
        counting, least: what counting adds to it, and the least that can be made.
        influence: [n], by how much each cell moves `kept`, with mean 0.
        rng: of what is made.
    """

    mean: FloatArray
    kept: float
    counting: float
    least: float
    influence: FloatArray
    rng: np.random.Generator

    @classmethod
    def of(cls, answers: _Answers) -> _Spread:
        group, X = answers.place[1], answers.shape[1]
        shares = answers.counts / answers.m[:, None]
        size = np.maximum(np.bincount(group, minlength=X), 1)
        mean = np.stack([np.bincount(group, part, X) / size for part in shares.T], axis=-1)[group]
        lost = np.zeros(len(shares))
        if answers.weights is not None:  # what moves all groups of a context is no departure
            mean = np.maximum(mean + answers.star - mean.mean(axis=0), 0.0)
            mean /= mean.sum(axis=-1, keepdims=True)
            there = np.bincount(answers.place[0], minlength=answers.shape[0])
            lost = 1.0 / np.maximum(there, 2)[answers.place[0]]
        room, once = 1 - (mean**2).sum(axis=-1), 1.0 / answers.m
        part = ((shares - mean) ** 2).sum(axis=-1) / (1 - lost) - room * once
        whole = room * (1 - once)
        divisor = max(float(whole.mean()), 1e-12)
        raw = float(part.mean()) / divisor
        kept = min(max(raw, LEAST_SPREAD), MOST_SPREAD)
        own = (part - raw * whole) / divisor if kept == raw else np.zeros_like(part)
        rng = np.random.default_rng(1)
        return cls(np.maximum(mean, 1e-3), kept, float(once.mean()), LEAST_SPREAD, own, rng)

    def first(self, kept: float) -> FloatArray:
        """Preferences [N,K] of all cells, from Dirichlet distributions with that spread."""
        at = self._cells()
        size = 1.0 / min(kept, MOST_SPREAD) - 1.0
        made = self.rng.standard_gamma(self.mean[at] * size) + 1e-300
        return np.asarray(made / made.sum(axis=-1, keepdims=True))

    def second(self) -> FloatArray:
        """The same from logistic-normal ones with nearly the same means and spread.

        The mean of logits that gives a mean share is that of Aitchison's approximation for a
        logistic curve; the variance is found by halving.
        """
        at = self._cells()
        z = self.rng.standard_normal((len(at), self.mean.shape[1]))
        logits = np.log(self.mean[at])
        logits -= logits.mean(axis=-1, keepdims=True)
        few = slice(0, len(self.mean))
        room = float((1 - (self.mean**2).sum(axis=-1)).mean())

        def made(sd: float, some: slice) -> FloatArray:
            wide = logits[some] * np.sqrt(1 + np.pi / 8 * 2 * sd**2) + sd * z[some]
            p = np.exp(wide - wide.max(axis=-1, keepdims=True))
            return np.asarray(p / p.sum(axis=-1, keepdims=True))

        low, high = 0.01, 20.0
        for _ in range(14):
            middle = np.sqrt(low * high)
            spread = ((made(middle, few) - self.mean[at[few]]) ** 2).sum(axis=-1).mean()
            low, high = (middle, high) if spread < self.kept * room else (low, middle)
        return made(np.sqrt(low * high), slice(None))

    def _cells(self) -> NDArray[np.intp]:
        return _repeated(*self.mean.shape)


@dataclass(frozen=True, eq=False)
class _Located:
    """Answers on a long scale: one distribution for all cells, shifted from its context's mean.

    Attributes:
        centre: [n], mean answer of the context of each cell (against a fixed reference, of its
            group), in steps of the scale.
        kept: variance of the shifts; counting, least, influence: as in `_Spread`.
        shape: [2K-1], share of answers at each distance from the mean of their cell.
        rng: of what is made.
    """

    centre: FloatArray
    kept: float
    counting: float
    least: float
    influence: FloatArray
    shape: FloatArray
    rng: np.random.Generator

    @classmethod
    def of(cls, answers: _Answers) -> _Located:
        context, group = answers.place
        m, K = answers.m, answers.counts.shape[1]
        steps = np.arange(K)
        place = answers.counts @ steps / m
        if answers.weights is None:
            size = np.maximum(np.bincount(group), 1)
            centre, lost = (np.bincount(group, place) / size)[group], np.zeros(len(m))
        else:
            centre = answers.star @ steps
            lost = 1.0 / np.maximum(np.bincount(context), 2)[context]
        away = steps - place[:, None]
        noise = (answers.counts * away**2).sum() / max(float((m - 1).sum()), 1.0)
        part = (place - centre) ** 2 / (1 - lost) - noise / m
        raw = float(part.mean())
        least = max(LEAST_SPREAD * noise, 1e-9)
        kept = max(raw, least)
        # Answers are closer to their own mean than to the truth.
        wide = away * np.sqrt(m / np.maximum(m - 1, 1))[:, None]
        shape = np.bincount(
            np.clip(np.rint(wide), 1 - K, K - 1).astype(int).ravel() + K - 1,
            answers.counts.ravel(),
            2 * K - 1,
        )
        own = part - raw if kept == raw else np.zeros_like(part)
        counting, rng = float((noise / m).mean()), np.random.default_rng(1)
        return cls(centre, kept, counting, least, own, shape / shape.sum(), rng)

    def first(self, kept: float) -> FloatArray:
        """Preferences [N,K] of all cells, with shifts from a normal distribution."""
        at = self._cells()
        return self._shifted(at, np.sqrt(kept) * self.rng.standard_normal(len(at)))

    def second(self) -> FloatArray:
        """The same with shifts up or down by one standard deviation."""
        at = self._cells()
        return self._shifted(at, np.sqrt(self.kept) * self.rng.choice([-1.0, 1.0], len(at)))

    def _shifted(self, at: NDArray[np.intp], shift: FloatArray) -> FloatArray:
        K = (len(self.shape) + 1) // 2
        where = np.clip(self.centre[at] + shift, 0.0, K - 1.0)
        distance = np.arange(K) - where[:, None]
        p = np.interp(distance, np.arange(1 - K, K), self.shape) + 1e-300
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def _cells(self) -> NDArray[np.intp]:
        return _repeated(len(self.centre), len(self.shape))


def _repeated(n: int, K: int) -> NDArray[np.intp]:
    """The cells, as often as makes enough of them; J of a cell on a long scale scatters less."""
    enough = LIKE if K <= 5 else LIKE // 10 if K <= LONG else LIKE // 40
    return np.tile(np.arange(n), max(1, -(-enough // n)))


def least_answers(K: int, points: Sequence[float] = ()) -> int:
    """How many answers a cell needs on average for K categories: 3 for two, 5 up to five, then 8.

    With as many, intervals of R kept their promise in simulations (docs/inference.md). On a scale
    every threshold divides the answers in two, so 3 are enough.
    """
    return 3 if K == 2 or points else 5 if K <= 5 else 8


def single_answers(grid: PreferenceGrid, samples: ArrayLike) -> FloatArray:
    """J of each cell [C,X] if it had one of its answers only, averaged over random ones."""
    answers = _Answers.of(grid, samples)
    out = np.zeros(len(answers.counts))
    for _ in range(THINNINGS):
        out += answers.risk(thin(answers.counts, 1, answers.rng)) / THINNINGS
    return answers.everywhere(out)


def extrapolation(m: int, K: int) -> tuple[list[int], FloatArray]:
    """Numbers of answers, rising to m, and the factors of h at each that give h at infinity.

    >>> nodes, factors = extrapolation(9, 3)
    >>> nodes, factors.round(3).tolist()
    ([3, 6, 9], [0.5, -4.0, 4.5])
    """
    nodes = sorted({max(1, round(m / 3)), max(1, round(2 * m / 3)), m})
    places = [node | 1 if K == 2 else node for node in nodes]
    if len(set(places)) < len(places):  # m = 3: two answers say what three do
        nodes, places = [nodes[0], nodes[-1]], [places[0], places[-1]]
    curve = np.vander(1.0 / np.array(places), len(places), increasing=True)
    return nodes, np.asarray(np.linalg.inv(curve)[0])


def thin(counts: Counts, node: int | NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    """`node` of the answers of each cell [n,K], without replacement; a number, or [n]."""
    n, K = counts.shape
    left, rest = np.array(np.broadcast_to(node, n)), counts.sum(axis=1)
    out = np.empty((n, K))
    if K > LONG:  # answer by answer: categories are many, and most of them empty
        for total in np.unique(rest):
            some = np.flatnonzero(rest == total)
            given = np.repeat(np.tile(np.arange(K), len(some)), counts[some].ravel())
            given = given.reshape(len(some), -1) + np.arange(len(some))[:, None] * K
            chosen = rng.permuted(given, axis=1)[np.arange(total) < left[some, None]]
            out[some] = np.bincount(chosen, minlength=len(some) * K).reshape(-1, K)
        return out
    for y in range(K - 1):
        rest = rest - counts[:, y]
        out[:, y] = rng.hypergeometric(counts[:, y], rest, left)
        left = left - out[:, y].astype(np.int64)
    out[:, -1] = left
    return out


def _samples(
    samples: ArrayLike, shape: tuple[int, int]
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    array = as_real(samples, name="samples")
    if array.ndim > 2 or array.shape not in ((), shape[1:], shape):
        raise SettingsError(
            f"samples: expected a number, shape {shape[1:]} or {shape}, found {array.shape}"
        )
    if not ((array >= 1) & (array == np.round(array))).all():
        raise SettingsError(
            f"samples: expected whole numbers of at least 1, found {float(array.min())}; "
            "give the number of answers that each cell rests on"
        )
    return np.array(np.broadcast_to(array, shape), dtype=np.int64)
