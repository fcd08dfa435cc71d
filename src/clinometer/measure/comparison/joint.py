"""Risks of several models under the same resampled contexts: what trends and rankings rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from clinometer.errors import SettingsError
from clinometer.measure.equations.criterion import checked_norm
from clinometer.measure.inference.correction import BiasModel
from clinometer.measure.inference.resampling_units import read_units
from clinometer.statistics.arrays import FloatArray

_BLOCK = 250


@dataclass(frozen=True, eq=False)
class Joint:
    """R, R^b, R^v of M models, corrected for the number of contexts, and B replicates of them.

    Attributes:
        values: [M,3].
        draws: [B,M,3]; in one replicate all models see the same contexts. Deviations are widened
            so that their variance is not too small by the share that a few contexts take away.
        n_eff: how many even contexts the resampled ones are worth.
    """

    values: FloatArray
    draws: FloatArray
    n_eff: float

    def interval(
        self, value: float, draws: FloatArray, *, level: float = 0.95
    ) -> tuple[float, float]:
        """A symmetric interval of a number computed from `values`, its replicates in draws [B]."""
        tail = float(stdtrit(max(self.n_eff - 1.0, 1.0), (1 + level) / 2))
        reach = tail * float(np.std(draws))
        return value - reach, value + reach


def joint_replicates(
    p_by_model: Sequence[ArrayLike],
    *,
    context_weights: ArrayLike | None = None,
    group_weights: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    norm: float = np.inf,
    normalize: bool = True,
    mask: ArrayLike | None = None,
    drawn: bool = False,
    clusters: Sequence[object] | None = None,
    replicates: int = 2000,
    seed: int = 0,
) -> Joint:
    """Resample the contexts once for all models.

    Args:
        p_by_model: M arrays [X,C,Y] over the same groups and contexts.
        mask: [X,C], cells that every model has.
        others: as in `bootstrap`; the resampling unit is the context, the draw or the cluster.

    Equal models get equal replicates. A single effective context gives replicates without spread,
    and an n_eff of 1 says so.

    >>> p = np.random.default_rng(0).beta(5, 5, (4, 30))
    >>> two = [np.stack([p, 1 - p], -1)] * 2
    >>> found = joint_replicates(two, replicates=100)
    >>> found.draws.shape, bool((found.draws[:, 0] == found.draws[:, 1]).all())
    ((100, 2, 3), True)
    """
    if not p_by_model:
        raise SettingsError("p_by_model: expected at least one model, found none")
    units = [
        read_units(
            p,
            context_weights=context_weights,
            group_weights=group_weights,
            reference=reference,
            norm=checked_norm(norm),
            normalize=normalize,
            mask=mask,
            clusters=clusters,
            drawn=drawn,
        )
        for p in p_by_model
    ]
    models = [BiasModel.of(u) for u in units]
    pairs = list(zip(units, models, strict=True))
    values = np.array([_risks(u.risk, u.mean, u.group_weights, b) for u, b in pairs])
    rng = np.random.default_rng(seed)
    draws = np.empty((replicates, len(units), 3))
    for start in range(0, replicates, _BLOCK):
        rows = slice(start, min(start + _BLOCK, replicates))
        multipliers = units[0].multipliers(rng, rows.stop - start)
        for i, (u, b) in enumerate(pairs):
            r, m = u.resampled(multipliers)
            draws[rows, i] = _risks(r, m, u.group_weights, b)
    q = float(np.sum(units[0].slots ** 2))
    if q < 1 - 1e-9:
        middle = draws.mean(axis=0)
        draws = middle + (draws - middle) / np.sqrt(1 - q)
    return Joint(values, draws, 1.0 / q)


def _risks(r: FloatArray, m: FloatArray, weights: FloatArray, model: BiasModel) -> FloatArray:
    """[..,3] from r [..,X] and the means of s [..,X,K]."""
    R = r @ weights
    bias = model.corrected(m)[0]
    return np.stack([R, bias, R - bias], axis=-1)
