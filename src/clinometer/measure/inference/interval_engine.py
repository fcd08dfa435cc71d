"""The replicates behind `bootstrap`: matrix products over blocks of them, no loop over each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from clinometer.measure.equations.criterion import criterion
from clinometer.measure.inference.correction import BiasModel
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import FloatArray

BLOCK = 1 << 19
"""Numbers in the largest array of a block of replicates: 4 MB."""

STEPS = 9
"""True values of r^b at which its errors are simulated; between them the quantiles are straight."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """Replicates of r, r^b, r^v of each group, and of their means: columns 0..X-1 and X."""

    units: Units
    model: BiasModel
    correct: bool
    two_way: bool

    def inverted(self, rng: np.random.Generator, B: int, *, level: float) -> FloatArray:
        """Ends [3,X+1,2] by inverting tests of r^b along the line through the observed means.

        The error of the corrected r^b depends on the r^b that is true. So errors are simulated
        for STEPS true values from 0 up, and a value is kept when the estimate lies within the
        quantiles of the errors that belong to it.
        """
        units, model = self.units, replace(self.model, heavy=1.0)
        risk, mean, w = units.risk, units.mean, units.group_weights
        plain = criterion(mean, units.norm)
        signed, by_group, _ = self.model.corrected(mean)
        reach = np.sqrt(model.size)
        whole, whole_reach = float(w @ plain), float(w @ reach)
        steps = np.linspace(0.0, 1.0, STEPS)[:, None]
        truth = steps * np.append(plain + 4 * reach, whole + 4 * whole_reach)
        unit = mean / np.where(plain > 0, plain, 1.0)[:, None]
        unit_all = unit * self._shape(plain)[:, None]
        near = max(float(signed), 0.0) * unit_all
        q = units.spread
        widen = 1.0 / np.sqrt(np.where(q < 1 - 1e-9, 1 - q, 1.0))
        X = risk.size
        coupling = units.coupling()
        # Turned errors follow the skewness of the data as percentiles do; with uneven weights
        # the heaviest contexts feign skewness, and half are turned, half are not.
        turned = (1 + 1 / (np.sum(units.slots**2) * units.slots.size)) / 2
        e_r = np.empty((B, X + 1), dtype=np.float32)
        e_v = np.empty(B, dtype=np.float32)
        e_b = np.empty((STEPS, B, X + 1), dtype=np.float32)
        for rows, g in self._blocks(rng, B):
            r, m = units.resampled(g)
            sign = np.where(rng.random(len(g)) < turned, -1.0, 1.0)[:, None]
            d_r = (r - risk) * (sign * widen)
            d_m = (m - mean) * (sign * widen)[..., None]
            share = self._group_shares(rng, len(g))
            e_r[rows, :-1] = d_r
            e_r[rows, -1] = (share * (risk + d_r)).sum(axis=1) - w @ risk
            mix = model.mix(near + d_m)
            loose_r, loose_m = _loosened(d_r, d_m, coupling, rng)
            e_v[rows] = (share * (risk + loose_r)).sum(axis=1) - w @ risk
            for i in range(STEPS):
                _, own, _ = model.corrected(truth[i, :-1, None] * unit + d_m, mix=mix)
                _, all_, _ = model.corrected(truth[i, -1] * unit_all + loose_m)
                e_b[i, rows, :-1] = own - truth[i, :-1]
                e_b[i, rows, -1] = (share * all_).sum(axis=1) - truth[i, -1]
        if X == 1:
            e_b[..., 0] = e_b[..., -1]
        tails = [(1 - level) / 2, 0.5, (1 + level) / 2]
        of_r = _stretched(e_r[None], tails, self._student(level, 1.0))[:, 0]
        student = self._student(level, coupling)
        of_b = _stretched(e_b, tails, student)
        e_r[:, -1] = e_v
        of_v = _stretched(e_r - e_b, tails, student)
        top = np.append(risk, w @ risk)
        estimate = np.append(by_group, signed)
        ends = np.empty((3, X + 1, 2))
        ends[0] = (top - of_r[::-2]).T
        # The upper end of r^b starts from parity where the estimate is below, lest it vanish.
        lifted = np.maximum(estimate, of_b[1, 0])
        ends[1, :, 0] = _crossing(truth, truth + of_b[2] - estimate)
        ends[1, :, 1] = _crossing(truth, truth + of_b[0] - lifted)
        # With v = r - b the error of r^v is b - estimate: the same inversion, turned around.
        high = truth - of_v[0] - estimate
        ends[2, :, 0] = top - _crossing(truth, truth - of_v[2] - estimate)
        ends[2, :, 1] = top - np.where(high[0] > 0, -high[0], _crossing(truth, high))
        return ends

    def _shape(self, plain: FloatArray) -> FloatArray:
        """[X], r^b of each group relative to R^b, drawn together by as much as is noise."""
        w = self.units.group_weights
        middle = float(w @ plain)
        spread = float(w @ (plain - middle) ** 2)
        noise = float(w @ self.model.size) / self.units.s.shape[2]
        kept = max(0.0, 1.0 - noise / spread) if spread > 0 else 0.0
        return (1 - kept) + kept * plain / middle if middle > 0 else np.ones(plain.size)

    def quantiles(
        self, rng: np.random.Generator, B: int, *, level: float, accelerate: bool
    ) -> FloatArray:
        """Ends [3,X+1,2]: quantiles of the replicates themselves."""
        units = self.units
        values = np.empty((3, B, units.risk.size + 1))
        for rows, g in self._blocks(rng, B):
            r, m = units.resampled(g)
            share = self._group_shares(rng, len(g))
            bias = self._bias(m)
            for i, part in enumerate((r, bias, r - bias)):
                values[i, rows, :-1] = part
                values[i, rows, -1] = (share * part).sum(axis=1)
        if not accelerate:
            tails = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=1)
            return np.asarray(np.moveaxis(tails, 0, -1))
        bias = self._bias(units.mean)
        parts = np.stack([units.risk, bias, units.risk - bias])
        estimate = np.concatenate([parts, (parts @ units.group_weights)[:, None]], axis=1)
        return _bca(values, estimate, units=units, level=level)

    def _bias(self, mean: FloatArray) -> FloatArray:
        if self.correct:
            by_group: FloatArray = self.model.corrected(mean)[1]
            return by_group
        return criterion(mean, self.units.norm)

    def _blocks(self, rng: np.random.Generator, B: int) -> Iterator[tuple[slice, FloatArray]]:
        """Multipliers of a block of replicates at a time; the cut depends on the shape alone."""
        U, X, K = self.units.s.shape
        step = max(16, BLOCK // max(U, X * K))
        for start in range(0, B, step):
            rows = slice(start, min(start + step, B))
            yield rows, self.units.multipliers(rng, rows.stop - start)

    def _group_shares(self, rng: np.random.Generator, B: int) -> FloatArray:
        """[B,X] (or [1,X]): weights of the groups in each replicate."""
        w = self.units.group_weights
        if not self.two_way:
            return w[None]
        steps = np.cumsum(w)
        drawn = np.searchsorted(steps / steps[-1], rng.random((B, w.size)), side="right")
        drawn += np.arange(B)[:, None] * w.size
        filled = np.bincount(drawn.ravel(), weights=np.tile(w, B), minlength=B * w.size)
        return np.asarray(w + (filled.reshape(B, -1) - w) / np.sqrt(1 - np.sum(w**2)))

    def _student(self, level: float, coupling: float) -> FloatArray:
        """[X+1]: quantile of Student's t over that of the normal.

        Groups that are not coupled each bring their own degrees of freedom to the variance of
        the mean over groups.
        """
        w, freedom = self.units.group_weights, self.units.freedom
        even = float(np.sum(w**2))
        whole = float(w @ freedom) / (coupling**2 + (1 - coupling**2) * even)
        if self.two_way:
            whole = min(whole, 1.0 / even - 1.0)
        tail = (1 + level) / 2
        return np.asarray(stdtrit(np.append(freedom, max(whole, 1.0)), tail) / ndtri(tail))


def _loosened(
    d_r: FloatArray, d_m: FloatArray, coupling: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Deviations whose covariance between groups is multiplied by `coupling`, others kept.

    Replicates are shuffled within each group, which makes the groups independent, and mixed
    with the unshuffled ones. Few units feign correlations, and squares of correlations, which
    is what r^b near parity responds to, do not cancel over pairs of groups.
    """
    if coupling >= 1:
        return d_r, d_m
    B, X = d_r.shape
    order = rng.permuted(np.tile(np.arange(B)[:, None], (1, X)), axis=0)
    own_r = np.take_along_axis(d_r, order, axis=0)
    own_m = np.take_along_axis(d_m, order[..., None], axis=0)
    a, b = np.sqrt(coupling), np.sqrt(1 - coupling)
    return a * d_r + b * own_r, a * d_m + b * own_m


def _stretched(errors: NDArray[np.float32], tails: list[float], student: FloatArray) -> FloatArray:
    """Quantiles [T,S,X+1] of errors [S,B,X+1], their deviations stretched by `student` [X+1]."""
    found = np.quantile(errors, tails, axis=1).astype(np.float64)
    centre = errors.mean(axis=1, dtype=np.float64)
    return np.asarray(centre + (found - centre) * student)


def _crossing(truth: FloatArray, values: FloatArray) -> FloatArray:
    """Where values [S,X], rising along truth [S,X], first reach 0: 0 and the last at the ends."""
    above = values >= 0
    right = np.where(above.any(axis=0), above.argmax(axis=0), len(truth) - 1)[None]
    left = np.maximum(right - 1, 0)
    a, b = np.take_along_axis(values, left, 0)[0], np.take_along_axis(values, right, 0)[0]
    x, y = np.take_along_axis(truth, left, 0)[0], np.take_along_axis(truth, right, 0)[0]
    share = np.clip(np.divide(-a, b - a, out=np.zeros(a.size), where=b > a), 0.0, 1.0)
    return np.asarray(x + share * (y - x))


def _bca(values: FloatArray, estimate: FloatArray, *, units: Units, level: float) -> FloatArray:
    """Bias-corrected and accelerated ends [3,X+1,2] of replicates [3,B,X+1] (Efron 1987)."""
    B = values.shape[1]
    below = (values < estimate[:, None]).mean(axis=1) + (values == estimate[:, None]).mean(
        axis=1
    ) / 2
    z0 = ndtri(np.clip(below, 0.5 / B, 1 - 0.5 / B))
    a = acceleration(units)
    ends = np.empty((*estimate.shape, 2))
    values = np.sort(values, axis=1)
    for side, tail in enumerate(((1 - level) / 2, (1 + level) / 2)):
        z = z0 + ndtri(tail)
        share = ndtr(z0 + z / (1 - a * z))
        place = np.clip(share * (B - 1), 0, B - 1)
        lower = np.floor(place).astype(np.intp)
        upper = np.minimum(lower + 1, B - 1)
        first = np.take_along_axis(values, lower[:, None], axis=1)[:, 0]
        second = np.take_along_axis(values, upper[:, None], axis=1)[:, 0]
        ends[..., side] = first + (place - lower) * (second - first)
    return ends


def acceleration(units: Units) -> FloatArray:
    """[3,X+1]: skewness of the jackknife influences / 6, of r, r^b, r^v and their means.

    With L_u = (1 - w_u)/w_u (whole - without u), a = sum(w³) m_3 / (6 (sum(w²) m_2)^1.5), where
    m_i is the mean of L^i by share and w are the slots; for equal weights the usual jackknife.
    """
    share = units.share
    rest = np.maximum(units.total - units.weight, 0.0)
    alone = rest <= 1e-12
    rest = np.where(alone, 1.0, rest)
    risk = np.where(alone, units.risk, (units.j.sum(axis=0) - units.j) / rest)
    mean = np.where(alone[..., None], units.mean, (units.s.sum(axis=0) - units.s) / rest[..., None])
    bias = criterion(mean, units.norm)
    whole_bias = criterion(units.mean, units.norm)
    parts = np.stack([units.risk - risk, whole_bias - bias])
    parts = np.stack([*parts, parts[0] - parts[1]])
    parts = np.concatenate([parts, (parts @ units.group_weights)[..., None]], axis=-1)
    L = parts * ((1 - share) / share)[:, None]
    L -= np.einsum("u,iux->ix", share, L)[:, None]
    two, three = (np.einsum("u,iux->ix", share, L**power) for power in (2, 3))
    w = units.slots
    variance = np.sum(w**2) * two
    out = np.zeros(two.shape)
    np.divide(np.sum(w**3) * three, 6 * variance**1.5, out=out, where=variance > 1e-20)
    return out
