"""Risks of several models under the same resampled contexts: the basis of trends and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from scipy.special import stdtrit

from clinometer.errors import SettingsError
from clinometer.measure.equations.criterion import RiskScale
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference.correction import BiasModel
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import FloatArray

_BLOCK = 250


@dataclass(frozen=True, eq=False)
class Joint:
    """R, R^b, R^v of M models, corrected for the number of contexts, and B replicates of them.

    Attributes:
        values: [M,3].
        draws: [B,M,3]; in one replicate all models see the same contexts. Deviations are scaled
            up, because with few contexts their variance would be too small.
        n_eff: effective number of resampled contexts.
    """

    values: FloatArray
    draws: FloatArray
    n_eff: float

    def interval(
        self, value: float, draws: FloatArray, *, level: float = 0.95
    ) -> tuple[float, float]:
        """A symmetric interval for a number computed from `values`; replicates in draws [B]."""
        tail = float(stdtrit(max(self.n_eff - 1.0, 1.0), (1 + level) / 2))
        reach = tail * float(np.std(draws))
        return value - reach, value + reach


def joint_replicates(
    grids: Sequence[PreferenceGrid],
    *,
    drawn: bool = False,
    clusters: Sequence[object] | None = None,
    replicates: int = 2000,
    seed: int = 0,
    **scaling: Unpack[RiskScale],
) -> Joint:
    """Resample the contexts once for all models.

    Args:
        grids: preferences of M models over the same groups and contexts, with the same weights
            and one mask: the cells that every model has.
        others: as in `bootstrap`; the resampling unit is the context, the sample or the cluster.

    Equal models get equal replicates. A single effective context gives replicates without spread,
    and an n_eff of 1 says so.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta(5, 5, (4, 30))
    >>> two = [read_preferences(np.stack([p, 1 - p], -1))] * 2
    >>> found = joint_replicates(two, replicates=100)
    >>> found.draws.shape, bool((found.draws[:, 0] == found.draws[:, 1]).all())
    ((100, 2, 3), True)
    """
    if not grids:
        raise SettingsError("p_by_model: expected at least one model, found none")
    units = [Units.of(grid, clusters=clusters, drawn=drawn, **scaling) for grid in grids]
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
