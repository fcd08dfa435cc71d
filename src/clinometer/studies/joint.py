"""Several models in the same contexts: replicates of their risks, for trends and rankings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from clinometer.errors import RunError, SettingsError
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import bracket
from clinometer.runs import Run
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.estimate import central_interval


@dataclass(frozen=True, eq=False)
class Joint:
    """R, R^b, R^v of M models, and B replicates of them.

    Attributes:
        values: [M,3].
        draws: [B,M,3], normal errors around the values; in one replicate all models have seen the
            same contexts.
        n_eff: effective number of contexts.
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
    grids: Sequence[PreferenceGrid], *, replicates: int = 2000, seed: int = 0
) -> Joint:
    """Replicates of the risks of M models over the same groups and contexts, with one mask.

    What each context contributes to a risk (`Bracket.each`) is multiplied by a normal number of its
    own, the same for all models. Equal models get equal replicates.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta(5, 5, (4, 30))
    >>> two = [read_preferences(np.stack([p, 1 - p], -1))] * 2
    >>> found = joint_replicates(two, replicates=100)
    >>> found.draws.shape, bool((found.draws[:, 0] == found.draws[:, 1]).all())
    ((100, 2, 3), True)
    """
    found = [bracket(Evidence.of(grid)) for grid in grids]
    values = np.stack([one.value[:, -1] for one in found])
    weights = found[0].weights[:, -1]
    q = float(weights @ weights)
    away = np.stack([one.each[..., -1] for one in found])
    away -= (away @ weights)[..., None]
    errors = away * weights / np.sqrt(max(1 - q, ROUNDING))
    z = np.random.default_rng(seed).standard_normal((replicates, len(weights)))
    return Joint(values, values + np.einsum("bu,mtu->bmt", z, errors), 1.0 / q)


def joint(runs: Sequence[Run], *, seed: int = 0) -> Joint:
    """The risks of runs with the same cells, under common resampling of the contexts."""
    first = runs[0].preferences
    for run in runs[1:]:
        p = run.preferences
        if p.groups != first.groups or p.contexts != first.contexts:
            raise RunError(
                f"study: {run.model} was scored on other groups or contexts than "
                f"{runs[0].model}; use another --out"
            )
    mask = np.logical_and.reduce([run.preferences.observed for run in runs])
    grids = [replace(first.grid, values=run.preferences.values, mask=mask) for run in runs]
    return joint_replicates(grids, seed=seed)


def kendall(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Kendall's tau of values [..,M] and [..,M]: pairs in the same order minus pairs in opposite
    order, over all pairs.

    1: the same ranking; -1: the opposite one; about 0: none of the one in the other. A pair that
    ties in either counts for neither (tau-a).

    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).round(3).item()
    0.667
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape[-1] != y.shape[-1] or x.shape[-1] < 2:
        raise SettingsError(
            f"kendall: expected the same two or more models twice, found {x.shape[-1]} and "
            f"{y.shape[-1]}"
        )
    i, j = np.array(list(itertools.combinations(range(x.shape[-1]), 2))).T
    return np.asarray((_order(x, i, j) * _order(y, i, j)).mean(axis=-1))


def kendall_interval(a: FloatArray, b: FloatArray, *, level: float = 0.95) -> tuple[float, float]:
    """Quantiles of tau over replicates [B,M] of both rankings, drawn independently of each other.

    With few models tau has few values (M = 4: seven), and so have the ends.
    """
    low, high = central_interval(kendall(a, b), level).tolist()
    return low, high


def _order(values: FloatArray, i: FloatArray, j: FloatArray) -> FloatArray:
    gap = values[..., i] - values[..., j]
    return np.asarray(np.where(np.abs(gap) <= ROUNDING, 0.0, np.sign(gap)))
