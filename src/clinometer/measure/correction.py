"""Bias risk and volatility risk corrected for a finite number of contexts.

`corrected` is the door. `Units` sums preferences by what was sampled (contexts, clusters of
contexts, single draws), `BiasModel` corrects the bias risk for the noise of these units, and
`Sampling` says which population the contexts are a sample of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from clinometer.errors import SettingsError
from clinometer.measure.counting_noise import fitted_correction
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import PreferenceArguments, PreferenceGrid, read_preferences
from clinometer.statistics.arrays import FloatArray, blocks, read_only
from clinometer.statistics.estimate import Estimate

SPLIT = float(np.sqrt(0.5))
"""a of the cross-fit: two thirds of the contexts choose the lean, one third measures it."""

NODES = 32
"""Normal directions (and their opposites) over which splits are averaged for K > 2."""


@dataclass(frozen=True, eq=False)
class Correction:
    """Corrected risks beside the plug-in ones. Arrays are read-only.

    Attributes:
        R, R_bias, R_volatility: corrected; method says how. R_bias is never below 0;
            R_volatility is R minus `signed_bias`, so that its mean over many audits is right.
        plug_in: (R, R_bias, R_volatility) of `decompose`.
        signed_bias: the corrected R^b before it is clipped at 0: below the truth about as often
            as above, so below 0 for about half of all models at exact parity.
        r, r_bias, r_volatility: [X], corrected, r_bias clipped to 0..r; NaN for missing groups.
        signed_by_group: [X], r_bias before clipping.
        mix: the weight of the plug-in in the mixture: 0 when all groups look like noise around
            parity, 0.6 when they are far apart.
    """

    R: Estimate
    R_bias: Estimate
    R_volatility: Estimate
    plug_in: tuple[float, float, float]
    signed_bias: float
    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    signed_by_group: FloatArray
    mix: float

    def __post_init__(self) -> None:
        """Make the arrays unwritable."""
        for array in (self.r, self.r_bias, self.r_volatility, self.signed_by_group):
            read_only(array)


def corrected(
    p: ArrayLike,
    *,
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    **given: Unpack[PreferenceArguments],
) -> Correction:
    """Risks without the bias that a finite number of contexts introduces into J(mean).

    With m = mean of s over the contexts and V its noise, the plug-in J(m) is too high: noise
    around parity counts as bias. The cross-fit chooses the lean in one part of the contexts
    and measures it in the rest, averaged over all splits,

    cross-fit = E over d ~ N(0, V) of grad J(m + a d) · (m - d/a),     a² = 1/2,

    which is right at parity and far from it, and too low in between. The estimate is a mixture,

    r^b = (1 - mix) cross-fit + mix J(m),

    whose `mix`, computed from all groups, makes it right on average for groups normally
    distributed around parity with the observed spread. R needs no correction for contexts; with
    `samples` J itself is corrected, see `sampled_correction`.

    Args: as for `estimate_risks`.

    Returns:
        `Correction`. With one context, or contexts that all agree, there is no noise to see, and
        the plug-in values are returned.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(5, 5, (120, 10))                  # R^b = 0, R^v = 0.246
    >>> result = corrected(np.stack([p, 1 - p], axis=-1))
    >>> round(result.plug_in[2], 2), round(result.R_volatility.value, 2)
    (0.18, 0.26)
    """
    grid = read_preferences(p, **given)
    units = Units.of(grid, clusters=clusters, samples=samples)
    return correct_units(units, BiasModel.of(units), sampled=samples is not None)


def correct_units(units: Units, model: BiasModel, *, sampled: bool = False) -> Correction:
    """The correction of gathered sums; see `corrected`."""
    w = units.group_weights
    missing = units.weight.sum(axis=0) <= 0
    risk, mean = units.risk, units.mean
    signed, by_group, mix = model.corrected(mean)
    plain = units.criterion(mean)
    R, plug = float(w @ risk), float(w @ plain)
    total = float(signed)
    kept = np.clip(by_group, 0.0, np.maximum(risk, 0.0))
    method = "cross-fit" + (", sampled" if sampled else "")
    nan = np.where(missing, np.nan, 0.0)
    return Correction(
        R=Estimate(R, method="sampled" if sampled else "plug-in"),
        R_bias=Estimate(max(total, 0.0), method=method),
        R_volatility=Estimate(max(R - total, 0.0), method=method),
        plug_in=(R, plug, R - plug),
        signed_bias=total,
        r=risk + nan,
        r_bias=kept + nan,
        r_volatility=np.maximum(risk - kept, 0.0) + nan,
        signed_by_group=by_group + nan,
        mix=float(mix),
    )


@dataclass(frozen=True, eq=False)
class BiasModel:
    """Corrected bias risk as a function of the means of s, given their noise.

    Attributes:
        root: [X,K,K], square root of the noise covariance.
        size: [X], its trace; dimension: how many directions the noise has, a mean over groups.
        weights: [X], of the groups, sum to one.
        heavy: factor of |m|²/tr V, whose tails are heavier than the normal's because V itself is
            estimated; 1 when V is known. 1 - 1.3/(freedom × dimension + 0.8) was fitted to
            simulated factors, within 0.02 from three degrees of freedom on.
        ratio: as in `Units`.
        criterion: J.
    """

    root: FloatArray
    size: FloatArray
    dimension: float
    heavy: float
    weights: FloatArray
    ratio: FloatArray | None
    criterion: Criterion

    @classmethod
    def of(cls, units: Units) -> BiasModel:
        """The model of the noise of these units."""
        V = units.noise()
        values, vectors = np.linalg.eigh(V)
        values = np.maximum(values, 0.0)
        size, square = values.sum(axis=1), (values**2).sum(axis=1)
        w = units.group_weights
        known = size > 0
        dimension = np.divide(size**2, square, out=np.ones(size.size), where=known)
        share = w * known
        mean = float(share @ dimension / share.sum()) if share.any() else 1.0
        root = (vectors * np.sqrt(values)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        heavy = 1 - 1.3 / (float(w @ units.freedom) * mean + 0.8)
        return cls(root, size, mean, heavy, w, units.ratio, units.criterion)

    def corrected(
        self, mean: FloatArray, mix: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of means [..,X,K]: R^b [..], r^b [..,X] (both may be below 0) and the mix [..]."""
        plain, cross = self.criterion(mean), self.cross_fit(mean)
        mix = self.mix(mean) if mix is None else mix
        by_group = cross + mix[..., None] * (plain - cross)
        return np.asarray(by_group @ self.weights), by_group, mix

    def mix(self, mean: FloatArray) -> FloatArray:
        """The weight of the plug-in, from the spread of the groups relative to their noise.

        With d directions and t² = |m|²/tr V, groups that scatter with rho² times their noise
        have E exp(-t²/2) = (1 + (1 + rho²)/d)^(-d/2). For m ~ N(0, rho² V) plug-in and cross-fit
        are off by sqrt(1 + rho²) - rho and rho²/sqrt(rho² + 1 + a²) - rho, times the same number.
        The exponential keeps a few groups far from parity from outweighing the many near it.
        """
        d = self.dimension
        square = sum(mean[..., y] ** 2 for y in range(mean.shape[-1]))
        noise = np.where(self.size > 0, self.size, 1.0)
        far = np.where((self.size > 0) | (square == 0), 0.0, np.inf)
        q = np.exp(-np.minimum(self.heavy * square / noise + far, 700.0) / 2) @ self.weights
        q = np.clip(q, 1e-12, 1.0)
        rho = np.sqrt(np.maximum(d * (q ** (-2.0 / d) - 1.0) - 1.0, 0.0))
        wide = 1.0 + SPLIT**2
        up = 1.0 / (np.sqrt(1 + rho**2) + rho)
        root = np.sqrt(rho**2 + wide)
        down = rho * wide / (root * (root + rho))
        return np.asarray(down / (up + down))

    def cross_fit(self, mean: FloatArray) -> FloatArray:
        """The lean chosen in one part and measured in the other, averaged over splits [..,X]."""
        if self.ratio is not None:
            return self._on_a_line(mean[..., 0], self.ratio)
        out = np.zeros(mean.shape[:-1])
        for direction in normal_nodes(NODES, self.root.shape[-1]):
            d = self.root @ direction
            out += self.criterion.slope(mean + SPLIT * d, mean - d / SPLIT)
        return out / NODES

    def _on_a_line(self, first: FloatArray, c: FloatArray) -> FloatArray:
        """K = 2 in closed form: J = (1+c)/2 |u| + (1-c)/2 u for s = (u, -c u)."""
        sigma = np.sqrt(self.size / (1 + c**2))
        t = first / np.where(sigma > 0, sigma, 1.0)
        z = t / SPLIT
        folded = t * (2 * ndtr(z) - 1) - (2 / SPLIT) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        folded = np.where(sigma > 0, sigma * folded, np.abs(first))
        return np.asarray((1 + c) / 2 * folded + (1 - c) / 2 * first)


def normal_nodes(n: int, K: int) -> FloatArray:
    """n fixed standard normal vectors [n,K] in antithetic pairs, with second moments one."""
    half = np.random.default_rng(0).standard_normal((n // 2, K))
    values, vectors = np.linalg.eigh(half.T @ half / len(half))
    half = half @ (vectors / np.sqrt(np.maximum(values, 1e-12))) @ vectors.T
    return np.concatenate([half, -half])


# --- Units of sampling ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Units:
    """Weighted sums of s and J in each unit of resampling, U of them, for X groups.

    Attributes:
        share: [U], weight of each unit, sums to one; all positive.
        slots: [N], weights of the positions that resampling fills, sum to one: the shares
            themselves, or N times 1/N when the contexts are N samples by weight.
        weight, j, s: [U,X], [U,X], [U,X,K]: sums of w, w J(s) and w s in the unit.
        ragged: whether weight differs from share (missing cells, weights per group).
        group_weights: [X], over the observed groups, sum to one.
        ratio: [X], see `Criterion.ratio`; None where the problem is not one-dimensional.
        criterion: J.
        allowance: by how much the correction of J for sampled answers may be wrong on average.
    """

    share: FloatArray
    slots: FloatArray
    weight: FloatArray
    j: FloatArray
    s: FloatArray
    ragged: bool
    group_weights: FloatArray
    ratio: FloatArray | None
    criterion: Criterion
    allowance: float

    @classmethod
    def of(
        cls,
        grid: PreferenceGrid,
        *,
        clusters: Sequence[object] | None = None,
        drawn: bool = False,
        draws: int | None = None,
        samples: ArrayLike | None = None,
        criteria: FloatArray | None = None,
    ) -> Units:
        """Preferences summed by unit; arguments as for `estimate_risks`.

        `criteria` [C,X] is J of each cell, where that is already corrected.
        """
        (X, C), K = grid.shape, len(grid.categories)
        j, s = np.empty((C, X)), np.empty((C, X, K))
        shared = grid.context_weights.shape[0] == 1
        even = shared and grid.mask is None  # one column stands for all groups
        weight = np.empty((C, X))
        if even:
            weight = np.broadcast_to(grid.context_weights[0][:, None], (C, X))
        everything = slice(0, C)
        for x in range(X):
            rows = slice(x, x + 1)
            cells = grid.stereotypes(rows, everything)
            if not even:
                weight[:, x] = grid.cell_weights(rows, everything)[0]
            s[:, x] = cells[0]
            j[:, x] = grid.criterion(cells[0])
        allowance = 0.0
        if samples is not None:
            j, allowance = fitted_correction(grid, samples)
        if criteria is not None:
            j = criteria.copy()
        j *= weight
        s *= weight[..., None]
        observed = grid.observed_weights(weight.sum(axis=0) > 0)
        share = grid.context_weights[0]
        if not shared:
            share = observed @ grid.context_weights / observed.sum()
        slots = None
        if drawn:
            slots = _draws(grid) if draws is None else np.full(draws, 1.0 / draws)
            if clusters is not None:
                raise SettingsError(
                    "clusters: expected None with unit='draws', which are independent"
                )
        keep = share > 0
        parts = [share, weight, j, s]
        if not keep.all():
            parts = [part[keep] for part in parts]
        if clusters is not None:
            labels = _labels(clusters, C)[keep]
            order = np.argsort(labels, kind="stable")
            starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
            parts = [np.add.reduceat(part[order], starts, axis=0) for part in parts]
        return cls(
            share=parts[0] / parts[0].sum(),
            slots=parts[0] / parts[0].sum() if slots is None else slots,
            weight=parts[1],
            j=parts[2],
            s=parts[3],
            ragged=not shared or grid.missing_cells > 0,
            group_weights=observed / observed.sum(),
            ratio=grid.criterion.ratio(grid.reference, X),
            criterion=grid.criterion,
            allowance=allowance,
        )

    @property
    def total(self) -> FloatArray:
        """[X], observed weight of each group; 1 for a group without any."""
        total = self.weight.sum(axis=0)
        return np.where(total > 0, total, 1.0)

    @property
    def risk(self) -> FloatArray:
        """[X], mean of J; 0 for a missing group."""
        return np.asarray(self.j.sum(axis=0) / self.total)

    @property
    def mean(self) -> FloatArray:
        """[X,K], mean of s; 0 for a missing group."""
        return np.asarray(self.s.sum(axis=0) / self.total[:, None])

    @property
    def spread(self) -> FloatArray:
        """[X], the sum of squared slot weights of each group: 1 over its effective number."""
        if self.slots.size != self.share.size or not self.ragged:
            return np.full(self.total.size, np.sum(self.slots**2))
        inner = self.weight / self.total
        return np.asarray(np.where(inner.any(axis=0), (inner**2).sum(axis=0), 1.0))

    @property
    def freedom(self) -> FloatArray:
        """[X], degrees of freedom of the weighted variance (Satterthwaite): n - 1 for equal ones.

        The weighted sum of squares is a quadratic form in A = diag(w) - w w'; its variance is
        matched by (tr A)² / tr A².
        """
        if self.slots.size != self.share.size:
            return np.full(self.total.size, self.slots.size - 1.0)
        w = self.weight / self.total
        two, three = (w**2).sum(axis=0), (w**3).sum(axis=0)
        trace = two - 2 * three + two**2
        out = np.ones(two.size)
        np.divide((1 - two) ** 2, trace, out=out, where=trace > 1e-15)
        return np.asarray(np.maximum(out, 1.0))

    def on_the_scale(self) -> Units:
        """The same with the mean on the scale in place of s: up in the last category, down in the
        first."""
        points = np.array(self.criterion.points)
        up = self.s @ (points / self.criterion.length)
        s = np.zeros_like(self.s)
        s[..., 0], s[..., -1] = -up, up
        return replace(self, s=s)

    def centred(self, categories: int | None = None) -> FloatArray:
        """[U,X,K], sqrt(w) (s - mean) of each unit and group, so that its square sums to V; or of
        the first categories alone."""
        return self._rooted(self.s[..., :categories], self.mean[:, :categories])

    def centred_risk(self) -> FloatArray:
        """[U,X], sqrt(w) (J - r) of each unit and group."""
        return self._rooted(self.j[..., None], self.risk[:, None])[..., 0]

    def _rooted(self, sums: FloatArray, mean: FloatArray) -> FloatArray:
        """sqrt(w) (sums/w - mean), 0 where w is 0; in blocks, so that only this is new."""
        out, total = np.empty(sums.shape), self.total[:, None]
        for rows, _ in blocks((len(sums), 1), depth=sums[0].size):
            w = self.weight[rows, :, None]
            seen = w > 0
            s = sums[rows] / np.where(seen, w, 1.0) - mean
            out[rows] = np.where(seen, s, 0.0) * np.sqrt(w / total)
        return out

    @property
    def tail_adjustment(self) -> tuple[float, float]:
        """How far a heavily weighted unit moves a mean and its variance together, see `Noise`."""
        w = self.slots
        two = float(np.sum(w**2))
        ratio = float(np.sum(w**3)) / two
        return 1.0 - ratio, ratio - two

    def noise(self) -> FloatArray:
        """[X,K,K], covariance of the mean of s: q/(1-q) × the weighted covariance over units.

        q is `spread`; 0 for a group with a single unit, whose noise is unknown.
        """
        q, centred = self.spread, self.centred()
        factor = np.where(q < 1 - 1e-9, q / np.maximum(1 - q, 1e-9), 0.0)
        out = np.einsum("uxk,uxl->xkl", centred, centred, optimize=True) * factor[:, None, None]
        return np.where(np.abs(out) > 1e-24, out, 0.0)

    def multipliers(self, rng: np.random.Generator, replicates: int) -> FloatArray:
        """[B,U]: the factor of each unit's weight in each replicate.

        Every slot is filled by a unit sampled by share; a unit counts the slots that it fills. So
        heavy weights stay as rare and as heavy as they were, and which context carries them is
        random.
        """
        U, N = self.share.size, self.slots.size
        if N != U:
            counts = rng.multinomial(N, self.share / self.share.sum(), size=replicates)
            return np.asarray(counts / (N * self.share))
        steps = np.cumsum(self.share)
        drawn = np.searchsorted(steps / steps[-1], rng.random((replicates, U)), side="right")
        drawn += np.arange(replicates)[:, None] * U
        filled = np.bincount(
            drawn.ravel(), weights=np.tile(self.slots, replicates), minlength=replicates * U
        )
        return np.asarray(filled.reshape(replicates, U) / self.share)

    def resampled(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Risk [B,X] and mean [B,X,K] of each replicate: matrix products, no loop.

        A group that has lost all its observed cells in a replicate keeps its estimate there.
        """
        B, (U, X, K) = len(multipliers), self.s.shape
        risk = multipliers @ self.j
        mean = (multipliers @ self.s.reshape(U, X * K)).reshape(B, X, K)
        weight = multipliers @ self.weight if self.ragged else np.ones((B, X))
        lost = weight <= 1e-12
        weight = np.where(lost, 1.0, weight)
        risk = np.where(lost, self.risk, risk / weight)
        mean = np.where(lost[..., None], self.mean, mean / weight[..., None])
        return risk, mean


def _draws(grid: PreferenceGrid) -> FloatArray:
    """n slots of weight 1/n for weights that count n draws."""
    counts = np.ones(grid.n_contexts) if grid.given is None else grid.given
    if counts.ndim != 1 or (counts != np.round(counts)).any():
        raise SettingsError(
            "context_weights: expected with unit='draws' how often each context was drawn, whole "
            "numbers [C]; for frequencies use unit='contexts'"
        )
    n = int(counts.sum())
    return np.full(n, 1.0 / n)


def _labels(clusters: Sequence[object], C: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    labels = [str(label) for label in clusters]
    if len(labels) != C:
        raise SettingsError(f"clusters: expected {C} labels, one a context, found {len(labels)}")
    return np.asarray(np.unique(np.array(labels), return_inverse=True)[1].reshape(-1))


# --- Populations ----------------------------------------------------------------------------


MOST_DRAWS = 1e6
"""More would only cost time: the interval is then a thousandth of the spread between contexts."""

POPULATIONS = {
    "set": "exactly these contexts",
    "corpus": "the corpus the contexts were mined from",
    "similar": "contexts of this kind",
}


@dataclass(frozen=True)
class Sampling:
    """How the contexts were sampled, as sums of squared weights of independent samples: the
    variance of a mean is such a sum times the variance between contexts.

    set_noise     of the contexts as a sample of their set; 0 when the whole set was scored
    corpus_noise  of the set as a sample of its corpus: 1/N for N occurrences, more where several
                  come from one article; None where occurrences were not counted
    """

    set_noise: float = 0.0
    corpus_noise: float | None = None

    @classmethod
    def of_counts(cls, counts: FloatArray, articles: FloatArray | None = None) -> Sampling:
        """A whole mined set [C]: each context occurred `counts` times in its number of articles.

        Occurrences in one article are one sample. Fractional weights are not counts.

        >>> Sampling.of_counts(np.array([3.0, 1.0])).draws("corpus")
        4.0
        """
        if counts.ndim > 1 or (counts != np.round(counts)).any():
            return cls()
        sources = counts if articles is None else np.minimum(articles, counts)
        return cls(corpus_noise=float((counts**2 / sources).sum() / counts.sum() ** 2))

    def draws(self, population: str) -> float:
        """The effective number of independent samples for a population; inf: no sampling error.

        Not for "similar", where the contexts themselves are the sample.

        >>> Sampling(set_noise=0.01, corpus_noise=0.01).draws("corpus")
        50.0
        """
        noise = self.set_noise
        if population == "corpus":
            if self.corpus_noise is None:
                raise SettingsError(
                    "population: expected contexts with counts of occurrences for corpus, found "
                    "other weights; use --population similar or set"
                )
            noise += self.corpus_noise
        return math.inf if noise == 0 else min(1.0 / noise, MOST_DRAWS)


def in_words(interval: Estimate, population: str) -> str:
    """What the interval of a risk is about, or why there is none.

    >>> in_words(Estimate(0.4, 0.3, 0.5, 0.95), "similar")
    '95 % intervals for contexts of this kind'
    """
    if interval.level is not None:
        return f"{100 * interval.level:g} % intervals for {POPULATIONS[population]}"
    if population == "set" and interval.note is None:
        return "exact for exactly these contexts, all of which were scored"
    return "no intervals"
