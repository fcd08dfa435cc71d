"""Bias risk and volatility risk corrected for a finite number of contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from clinometer.measure.equations.criterion import criterion, slope
from clinometer.measure.grid import PreferenceArguments, read_preferences
from clinometer.measure.inference.noise import normal_nodes
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import FloatArray, read_only
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
    norm: float = np.inf,
    normalize: bool = True,
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

    Args: as for `bootstrap`.

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
    units = Units.of(grid, norm=norm, normalize=normalize, clusters=clusters, samples=samples)
    return correct_units(units, BiasModel.of(units), sampled=samples is not None)


def correct_units(units: Units, model: BiasModel, *, sampled: bool = False) -> Correction:
    """The correction of gathered sums; see `corrected`."""
    w = units.group_weights
    missing = units.weight.sum(axis=0) <= 0
    risk, mean = units.risk, units.mean
    signed, by_group, mix = model.corrected(mean)
    plain = criterion(mean, units.norm)
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
        norm: k of the criterion.
    """

    root: FloatArray
    size: FloatArray
    dimension: float
    heavy: float
    weights: FloatArray
    ratio: FloatArray | None
    norm: float

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
        return cls(root, size, mean, heavy, w, units.ratio, units.norm)

    def corrected(
        self, mean: FloatArray, mix: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of means [..,X,K]: R^b [..], r^b [..,X] (both may be below 0) and the mix [..]."""
        plain, cross = criterion(mean, self.norm), self.cross_fit(mean)
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
            out += slope(mean + SPLIT * d, mean - d / SPLIT, self.norm)
        return out / NODES

    def _on_a_line(self, first: FloatArray, c: FloatArray) -> FloatArray:
        """K = 2 in closed form: J = (1+c)/2 |u| + (1-c)/2 u for s = (u, -c u)."""
        sigma = np.sqrt(self.size / (1 + c**2))
        t = first / np.where(sigma > 0, sigma, 1.0)
        z = t / SPLIT
        folded = t * (2 * ndtr(z) - 1) - (2 / SPLIT) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        folded = np.where(sigma > 0, sigma * folded, np.abs(first))
        return np.asarray((1 + c) / 2 * folded + (1 - c) / 2 * first)
