"""Differences between models for a set or a corpus: occurrences are resampled, not contexts.

Sign flips and the correction of the bias risk treat the contexts as the sample. Where the target is
the set or the corpus behind it, (nearly) all contexts are known, and the only error left is in how
often each occurred: many independent samples, for which the normal approximation is good.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
from scipy.special import ndtr, ndtri

from clinometer.measure.comparison.compare import rank_probabilities, with_holm
from clinometer.measure.comparison.result import Comparison, Difference
from clinometer.measure.equations.criterion import RiskScale, criterion
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference.resampling_units import Units
from clinometer.statistics.arrays import ROUNDING, FloatArray


def for_draws(
    comparison: Comparison,
    grids: Sequence[PreferenceGrid],
    *,
    draws: float,
    replicates: int,
    level: float,
    seed: int,
    **scaling: Unpack[RiskScale],
) -> Comparison:
    """The comparison with the errors of `draws` independent samples of its contexts instead.

    Values are plug-in estimates with normal intervals. inf: the contexts are the whole target, so
    there is no error, no interval and no p-value.
    """
    value, deviation, replicated = _replicates(
        grids, draws, replicates=replicates, seed=seed, **scaling
    )
    pairs = list(itertools.combinations(comparison.models, 2))
    columns = {name: i for i, name in enumerate((None, *comparison.groups))}
    measures = {"R": 0, "R_bias": 1, "R_volatility": 2, "r": 0, "r_bias": 1, "r_volatility": 2}
    far = float(ndtri(0.5 + level / 2))

    def one(d: Difference) -> Difference:
        at = pairs.index((d.a, d.b)), columns[d.group], measures[d.measure]
        known = float(value[at]), float(deviation[at])
        if d.value is None or np.isnan(known).any():
            return replace(d, low=None, high=None, p=None, p_holm=None)
        middle, sd = known
        if np.isinf(draws):
            return replace(d, corrected=middle, low=None, high=None, p=None, p_holm=None)
        p = 1.0 if abs(middle) <= ROUNDING else float(2 * ndtr(-abs(middle) / sd)) if sd else 0.0
        low, high = middle - far * sd, middle + far * sd
        return replace(d, corrected=middle, low=low, high=high, p=p, p_holm=None)

    ranks = []
    for rank in comparison.ranks:
        i, m = comparison.models.index(rank.model), measures[rank.measure]
        shares = rank_probabilities(replicated[:, :, m])[i]
        ranks.append(replace(rank, probability=tuple(float(v) for v in shares)))
    by_group = [one(d) for d in comparison.by_group]
    return replace(
        comparison,
        overall=with_holm([one(d) for d in comparison.overall]),
        by_group=tuple(
            d for pair in pairs for d in with_holm([d for d in by_group if (d.a, d.b) == pair])
        ),
        ranks=tuple(ranks),
    )


def _replicates(
    grids: Sequence[PreferenceGrid],
    draws: float,
    *,
    replicates: int,
    seed: int,
    **scaling: Unpack[RiskScale],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Differences [P,X+1,3] and their standard deviations (first all groups together), and the
    replicates [B,M,3] of R, R^b, R^v."""
    n = 2 if np.isinf(draws) else max(2, round(draws))
    units = [Units.of(g, drawn=True, draws=n, **scaling) for g in grids]
    once = np.ones((1, units[0].share.size))
    plain = np.concatenate([_risks(one, once) for one in units])
    if np.isinf(draws):
        found = np.broadcast_to(plain[:, None], (len(grids), 1, *plain.shape[1:]))
    else:
        multipliers = units[0].multipliers(np.random.default_rng(seed), replicates)
        found = np.stack([_risks(one, multipliers) for one in units])
    pairs = list(itertools.combinations(range(len(grids)), 2))
    value = np.stack([plain[i] - plain[j] for i, j in pairs])
    deviation = np.stack([(found[i] - found[j]).std(axis=0) for i, j in pairs])
    return value, deviation, np.moveaxis(found[:, :, 0], 0, 1)


def _risks(units: Units, multipliers: FloatArray) -> FloatArray:
    """[B,X+1,3]: r, r^b, r^v of all groups together and of each."""
    risk, mean = units.resampled(multipliers)
    bias = criterion(mean, units.norm)
    parts = np.stack([risk, bias, risk - bias], axis=-1)
    parts = np.where((units.weight.sum(axis=0) > 0)[:, None], parts, np.nan)
    whole = np.nansum(units.group_weights[:, None] * parts, axis=1, keepdims=True)
    return np.concatenate([whole, parts], axis=1)
