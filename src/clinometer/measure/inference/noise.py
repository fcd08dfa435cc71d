"""The sampling error of the groups' means: a component shared by all groups, and their own.

The error of the mean stereotypes m_x is e_x = shared_x f + own_x. The factor f is the error of the
mean over groups, one number for two categories. It moves all groups together and near parity folds
them together, which an expansion around the observed means would miss, so it is integrated
numerically. Given f, the rest averages out over the groups: its effect on R^b is normal, with an
exact mean and linear part and a second-order part from the mean squared correlation of the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from clinometer.measure.equations.criterion import criterion, gradient
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import FloatArray

LINE_NODES, NODES = 81, 96
"""Nodes over f for two categories, and for more."""

TURNS = 40
"""With more than two categories, rotations of the nodes over own errors: at least
this many over all groups."""


@dataclass(frozen=True, eq=False)
class ExtraError:
    """Errors that do not come from the contexts: N independent ones, each of size one standard
    deviation, that move the mean [N,X,K] and the risk [N,X] of every group."""

    mean: FloatArray
    risk: FloatArray


@dataclass(frozen=True, eq=False)
class Noise:
    """Errors of the means of X groups over the contexts; D = X k, k = 1 on a line, else K.

    Attributes:
        mean: [X,k]; risk: [X]; weights: [X], of the groups.
        freedom: degrees of freedom of the variances (Satterthwaite), a mean over groups.
        bend: (a, b) of `quantile`.
        total: [X,k,k], covariance of the mean of each group.
        shared: [L,X,k], how far the L factors move each group; own: [X,k,k], what is left of total.
        gram: [D,D], covariance of the rest between groups, each times its weight.
        risk_shared, risk_rest, cross: [L], number, [D]: the error of R along f, the variance of
            its rest, and the covariance of that with the rest of the means (times weight).
        risk_variance: [X+1], of each r, and of R.
        risk_skewness: [X+1], of each r, and of R.
        risk_cross: [X,k], covariance of each r with its own mean.
        kinship: mean squared correlation of the rest between groups, minus what few units produce
            by chance.
        ratio, norm: as in `Units`.
    """

    mean: FloatArray
    risk: FloatArray
    weights: FloatArray
    freedom: float
    bend: tuple[float, float]
    total: FloatArray
    shared: FloatArray
    own: FloatArray
    gram: FloatArray
    risk_shared: FloatArray
    risk_rest: float
    cross: FloatArray
    risk_variance: FloatArray
    risk_skewness: FloatArray
    risk_cross: FloatArray
    kinship: float
    ratio: FloatArray | None
    norm: float

    @classmethod
    def of(cls, units: Units, more: ExtraError | None = None) -> Noise:
        """The noise of these units."""
        k = 1 if units.ratio is not None else units.s.shape[2]
        w, q = units.group_weights, units.spread
        factor = np.sqrt(np.where(q < 1 - 1e-9, q / np.maximum(1 - q, 1e-9), 0.0))
        skewness = _skewness(units)
        e, e_risk = units.centred(k), units.centred_risk()
        e *= factor[:, None]
        e_risk *= factor
        if more is not None:
            e = np.concatenate([e, more.mean[..., :k]])
            e_risk = np.concatenate([e_risk, more.risk])
        U, X, _ = e.shape
        freedom = float(w @ units.freedom)
        of_R = e_risk @ w
        f, size, _ = np.linalg.svd(np.einsum("x,uxk->uk", w, e), full_matrices=False)
        known = int(np.count_nonzero(size > 1e-9 * size[0]))
        f = f[:, : max(1, min(known, units.s.shape[2] - 1))]
        flat = e.reshape(U, X * k)
        shared = f.T @ flat
        rest = f @ shared
        np.subtract(flat, rest, out=rest)
        total = np.einsum("uxk,uxl->xkl", e, e, optimize=True)
        shared = _drawn_together(shared.reshape(-1, X, k), w, rest, freedom)
        own = _definite(total - np.einsum("lxk,lxm->xkm", shared, shared), total)
        along = f.T @ of_R
        of_rest = of_R - f @ along
        weight = np.repeat(w, k)
        gram = rest.T @ rest
        return cls(
            mean=units.mean[:, :k],
            risk=units.risk,
            weights=w,
            freedom=freedom,
            bend=units.bend,
            total=total,
            shared=shared,
            own=own,
            gram=gram * np.outer(weight, weight),
            risk_shared=along,
            risk_rest=float(of_rest @ of_rest),
            cross=(rest.T @ of_rest) * weight,
            risk_variance=np.append((e_risk**2).sum(axis=0), of_R @ of_R),
            risk_skewness=skewness,
            risk_cross=np.einsum("ux,uxk->xk", e_risk, e),
            kinship=_kinship(gram, w, k, max(freedom - 1.0, 1.0)),
            ratio=units.ratio,
            norm=units.norm,
        )

    def quantile(self, tail: FloatArray | float) -> FloatArray:
        """Quantile of a studentised weighted mean: Student's, adjusted for uneven weights.

        A heavily weighted unit moves the mean and the variance around it together, so their ratio
        has lighter tails: t² becomes t² (1 - q) / (a + b t²), with q = sum of w², T = sum of w³,
        a = 1 - T/q, b = T/q - q; for even weights that is t² itself.
        """
        t = stdtrit(self.freedom, tail)
        a, b = self.bend
        return np.asarray(t * np.sqrt((a + b) / (a + b * t * t)))

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """[Q,L] values of f with weights [Q]."""
        L = self.shared.shape[0]
        if L == 1:
            at, mass = np.polynomial.legendre.leggauss(LINE_NODES)
            return self.quantile((at + 1) / 2)[:, None], mass / 2
        stretch = float(self.quantile(0.975) / ndtri(0.975))
        return stretch * normal_nodes(NODES, L), np.full(NODES, 1.0 / NODES)

    @cached_property
    def own_nodes(self) -> FloatArray:
        """[N,X,k], own errors of each group.

        k axes, both ways, rotated for each group, so that what a few nodes miss averages out
        over the groups. Axes have two lengths in turn, which give the length of a normal vector
        its right mean (J is proportional to length at parity) and mean square.
        """
        X, k = self.mean.shape
        turns = -(-TURNS // X)
        axes, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((turns, X, k, k)))
        length = np.sqrt(2.0) * np.exp(gammaln((k + 1) / 2) - gammaln(k / 2))
        sign = (-1.0) ** np.add.outer(np.add.outer(np.arange(turns), np.arange(X)), np.arange(k))
        axes = axes * (length + sign * np.sqrt(k - length**2))[..., None]
        nodes = np.moveaxis(axes, 2, 1).reshape(turns * k, X, k)
        nodes = np.einsum("ixk,xkl->ixl", nodes, _roots(self.own))
        return np.concatenate([nodes, -nodes])

    @cached_property
    def groups_worth(self) -> float:
        """The effective number of independent groups in the rest."""
        even = float(self.weights @ self.weights)
        return 1.0 / (self.kinship + (1 - self.kinship) * even)

    def bias(self, mean: FloatArray) -> FloatArray:
        """J of means [..,X,k]: [..,X]."""
        if self.ratio is None:
            return criterion(mean, self.norm)
        u, c = mean[..., 0], self.ratio
        return np.asarray((1 + c) / 2 * np.abs(u) + (1 - c) / 2 * u)

    def expected(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """J(at + own error), for at [..,X,k]: mean [..,X], mean gradient [..,X,k], nonlinear
        variance [..,X], and the growth of the mean with the size of the error [..,X]."""
        if self.ratio is not None:
            u, c = at[..., 0], self.ratio
            sd = np.sqrt(self.own[:, 0, 0])
            t = np.clip(u / np.maximum(sd, 1e-150), -37.0, 37.0)  # beyond, exp and ndtr are 0 or 1
            density = sd * np.exp(-t * t / 2) * np.sqrt(2 / np.pi)
            sign = 2 * ndtr(t) - 1
            fold = u * sign + density
            bent = np.maximum(u * u + sd * sd - fold * fold - (sign * sd) ** 2, 0.0)
            half, rest = (1 + c) / 2, (1 - c) / 2
            slopes = (half * sign + rest)[..., None]
            return half * fold + rest * u, slopes, half**2 * bent, half * density
        first, second, grow = np.zeros((3, *at.shape[:-1]))
        slopes = np.zeros(at.shape)
        nodes = self.own_nodes
        for own in nodes:
            value, slope = criterion(at + own, self.norm), gradient(at + own, self.norm)
            first += value / len(nodes)
            second += value * value / len(nodes)
            grow += np.einsum("...xk,xk->...x", slope, own) / len(nodes)
            slopes += slope / len(nodes)
        linear = np.einsum("...xk,xkl,...xl->...x", slopes, self.own, slopes, optimize=True)
        return first, slopes, np.maximum(second - first**2 - linear, 0.0), grow

    def of_means(self, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The plug-in R^b when the means are `truth` [S,X,k], given each f: its mean [S,Q], its
        linear variance, that of R - R^b, and the nonlinear variance."""
        w, (f, _) = self.weights, self.nodes
        at = truth[:, None] + np.einsum("ql,lxk->qxk", f, self.shared)
        mean, slopes, bent, grow = self.expected(at)
        d = slopes.reshape(*slopes.shape[:2], -1)
        linear = np.einsum("sqd,sqd->sq", d @ self.gram, d)
        gap = np.maximum(self.risk_rest - 2 * d @ self.cross + linear, 0.0)
        other = (1 - self.kinship) * bent @ w**2 + self.kinship * (np.sqrt(bent) @ w) ** 2
        # The size of the noise is estimated too, and the mean grows with it.
        other = other + (grow @ w) ** 2 / (2 * self.freedom * self.groups_worth)
        return mean @ w, linear, gap, other

    def below(self, x: FloatArray, linear: FloatArray, other: FloatArray) -> FloatArray:
        """Share of errors at most x: Student's, with the freedom of both variances [..]."""
        whole = linear + other
        parts = linear**2 / self.freedom + other**2 / (self.freedom * self.groups_worth)
        freedom = np.divide(whole**2, parts, out=np.full_like(whole, 1e6), where=parts > 0)
        t = x / np.sqrt(np.where(whole > 0, whole, 1e-300))
        return np.asarray(stdtr(np.clip(freedom, 1.0, 1e6), np.clip(t, -1e9, 1e9)))


def normal_nodes(n: int, K: int) -> FloatArray:
    """n fixed standard normal vectors [n,K] in antithetic pairs, with second moments one."""
    half = np.random.default_rng(0).standard_normal((n // 2, K))
    values, vectors = np.linalg.eigh(half.T @ half / len(half))
    half = half @ (vectors / np.sqrt(np.maximum(values, 1e-12))) @ vectors.T
    return np.concatenate([half, -half])


def _skewness(units: Units) -> FloatArray:
    """[X+1], skewness of the weighted means r and R, from that of the units, at most 1.2."""
    away, root = units.centred_risk(), np.sqrt(units.weight / units.total)
    np.divide(away, root, out=away, where=root > 0)
    del root
    away = np.append(away, (away @ units.group_weights)[:, None], axis=1)
    two, three = float(np.sum(units.slots**2)), float(np.sum(units.slots**3))
    second = units.share @ away**2 / (1 - two)
    third = units.share @ away**3 / max(1 - 3 * two + 2 * three, 1e-3)
    size = (two * second) ** 1.5
    found = np.divide(three * third, size, out=np.zeros_like(size), where=size > 1e-24)
    return np.clip(found, -1.2, 1.2)


def _drawn_together(
    shared: FloatArray, weights: FloatArray, rest: FloatArray, freedom: float
) -> FloatArray:
    """Loadings [L,X,k] shrunk towards their mean over groups by the noise in their spread."""
    L, X, k = shared.shape
    middle = np.einsum("x,lxk->lk", weights, shared)[:, None]
    spread = float(np.einsum("x,lxk->", weights, (shared - middle) ** 2))
    noise = L * float(weights @ (rest**2).sum(axis=0).reshape(X, k).sum(axis=1)) / freedom
    kept = max(0.0, 1.0 - noise / spread) if spread > 0 else 0.0
    return np.asarray(middle + kept * (shared - middle))


def _definite(own: FloatArray, total: FloatArray) -> FloatArray:
    """Covariances [X,k,k] without negative directions, at least 1e-4 of the total."""
    values, vectors = np.linalg.eigh(own)
    least = 1e-4 * np.trace(total, axis1=1, axis2=2)[:, None] / own.shape[-1]
    return np.asarray((vectors * np.maximum(values, least)[:, None]) @ np.swapaxes(vectors, 1, 2))


def _roots(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(np.maximum(values, 0.0))
    return np.asarray((vectors * root[:, None]) @ np.swapaxes(vectors, 1, 2))


def _kinship(gram: FloatArray, weights: FloatArray, k: int, freedom: float) -> float:
    """Mean squared correlation between groups, minus the 1/freedom expected by chance."""
    X = weights.size
    square = (gram**2).reshape(X, k, X, k).sum(axis=(1, 3))
    size = np.diag(gram).reshape(X, k).sum(axis=1)
    pairs = np.outer(weights * (size > 0), weights * (size > 0))
    np.fill_diagonal(pairs, 0.0)
    if not pairs.any() or freedom <= 1:
        return 0.0
    size = np.where(size > 0, size, 1.0)
    found = float((pairs * square / np.outer(size, size)).sum() / pairs.sum())
    return min(1.0, max(0.0, (found - 1 / freedom) / (1 - 1 / freedom)))
