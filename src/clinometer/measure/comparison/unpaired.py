"""Differences between models over different contexts: paired by group, unpaired by context.

Each model has its own contexts, so the two cannot be swapped in any of them. An interval of the
difference A - B joins the intervals of the two audits, which hold with few and uneven contexts
(MOVER, Zou and Donner 2008):

    low  = A - B - sqrt((A - low_A)² + (high_B - B)² - 2 rho (A - low_A) (high_B - B))
    high = A - B + sqrt((high_A - A)² + (B - low_B)² - 2 rho (high_A - A) (B - low_B))

with A and B corrected for their numbers of contexts. rho is the correlation of the two errors, from
the contexts that both models were asked in; without any it is 0.

The intervals of R^b and R^v allow for leans that are only noise, and joined they are too wide where
the leans are far from it. There the errors are linear, and the arms are those of Student's t with
Satterthwaite's degrees of freedom. In between the squares of both arms are mixed, by the share of
the squared leans that is not noise (`CLEAR`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from clinometer.measure.comparison.compare import BY_GROUP, OVERALL, ranked, with_holm
from clinometer.measure.comparison.joint import joint_replicates
from clinometer.measure.comparison.paired import signal
from clinometer.measure.comparison.result import Comparison, ContextCount, Difference
from clinometer.measure.equations.criterion import RiskScale, slope
from clinometer.measure.equations.risk import risks
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference.bootstrap import estimate
from clinometer.measure.inference.resampling_units import Units
from clinometer.measure.results import RiskReport
from clinometer.statistics.arrays import ROUNDING, FloatArray, plain, snap

CLEAR = (0.7, 0.9)
"""Shares of the squared leans that are not noise: up to the first, the intervals are joined; from
the second on, the errors are taken as linear. Chosen by simulation (benchmarks/coverage.py)."""


@dataclass(frozen=True, eq=False)
class OwnContexts:
    """A model and the contexts that it was asked in.

    grid     its preferences
    units    [C], the resampling unit of each context: its id, or the label of its cluster
    samples  [X, C] sampled answers behind each cell; None: probabilities were read
    """

    name: str
    grid: PreferenceGrid
    units: Sequence[str]
    samples: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _Measured:
    """Risks of a model, in columns: its groups, then all of them together.

    plug_in, value, low, high  [X+1,3]; value is corrected, NaN where there is nothing
    residuals                  [U,X+1,3], what each unit contributes to the error
    units                      [U], the names of the units
    variance                   [X+1,3], of the linear errors, with `freedom` [X+1] degrees
    clear                      the share of the squared leans that is not noise
    """

    plug_in: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    residuals: FloatArray
    units: NDArray[np.str_]
    variance: FloatArray
    freedom: FloatArray
    clear: float


def compare_unpaired(
    models: Sequence[OwnContexts],
    *,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    **scaling: Unpack[RiskScale],
) -> Comparison:
    """Differences between models over the same groups, each in its own contexts.

    All grids have the same groups, group weights and categories. p-values are those of Student's t
    through the end of the interval that is nearer to 0: below 1 - level exactly when the interval
    excludes 0. There is neither interval nor p-value where the audit of a model has no interval.
    The probabilities of ranks treat all errors as independent.
    """
    names = tuple(model.name for model in models)
    groups = models[0].grid.groups
    measured = [_measured(model, level=level, **scaling) for model in models]
    rows: list[Difference] = []
    overall: list[Difference] = []
    for i, j in itertools.combinations(range(len(models)), 2):
        found = _differences(measured[i], measured[j], level)
        pair = names[i], names[j]
        rows += with_holm([_row(found, x, m, pair, g) for m in (0, 1, 2)
                           for x, g in enumerate(groups)])  # fmt: skip
        overall += [_row(found, len(groups), m, pair, None) for m in (0, 1, 2)]
    drawn = [
        joint_replicates([model.grid], clusters=model.units, replicates=replicates,
                         seed=seed + i, **scaling)
        for i, model in enumerate(models)
    ]  # fmt: skip
    errors = np.concatenate([one.draws - one.draws.mean(axis=0) for one in drawn], axis=1)
    last = np.stack([one.plug_in[-1] for one in measured])
    corrected = np.stack([one.value[-1] for one in measured])
    sizes = tuple(
        ContextCount(model.grid.n_contexts, one.n_eff)
        for model, one in zip(models, drawn, strict=True)
    )
    clustered = any(len(set(m.units)) < m.grid.n_contexts for m in models)
    return Comparison(
        models=names,
        groups=groups,
        overall=with_holm(overall),
        by_group=tuple(rows),
        ranks=tuple(ranked(last, corrected, errors, names)),
        n_contexts=sum(size.contexts for size in sizes),
        n_eff=min(size.n_eff for size in sizes),
        n_clusters=len(set().union(*(m.units for m in models))) if clustered else None,
        missing_cells=sum(model.grid.missing_cells for model in models),
        level=float(level),
        replicates=int(replicates),
        seed=int(seed),
        own_contexts=sizes,
    )


def _measured(model: OwnContexts, *, level: float, **scaling: Unpack[RiskScale]) -> _Measured:
    clusters = list(model.units)
    report, _ = estimate(
        model.grid, level=level, clusters=clusters, samples=model.samples, **scaling
    )
    units = Units.of(model.grid, clusters=clusters, samples=model.samples, **scaling)
    weights = model.grid.context_weights
    share = weights[0] if len(weights) == 1 else units.group_weights @ weights
    linear = _linear(units)
    inner = np.sqrt(units.weight / units.total)
    whole = np.append(inner, np.sqrt(units.share)[:, None], axis=1)
    q = np.append(units.spread, np.sum(units.slots**2))[:, None]
    factor = np.where(q < 1 - 1e-9, q / np.maximum(1 - q, 1e-9), 0.0)
    low, high = _ends(report)
    noise = np.trace(units.noise(), axis1=1, axis2=2)
    return _Measured(
        plug_in=_columns(risks(model.grid, **scaling)),
        value=_columns(report),
        low=low,
        high=high,
        residuals=linear * whole[..., None],
        units=np.unique(np.array(clusters)[share > 0]),
        variance=(linear**2).sum(axis=0) * factor,
        freedom=np.append(units.freedom, units.group_weights @ units.freedom),
        clear=float(signal(units.mean[:, None], noise[:, None], units.group_weights)[0]),
    )


def _linear(units: Units) -> FloatArray:
    """[U,X+1,3]: sqrt(w) times the deviation of each unit in r, r^b, r^v, and in their means."""
    risk = units.centred_risk()
    bias = slope(units.mean, units.centred(), units.norm)
    own = np.stack([risk, bias, risk - bias], axis=-1)
    mean = np.einsum("x,uxt->ut", units.group_weights, own)[:, None]
    return np.concatenate([own, mean], axis=1)


def _columns(report: RiskReport) -> FloatArray:
    """[X+1,3]: r, r^b, r^v of each group, and R, R^b, R^v."""
    groups = np.stack([report.r, report.r_bias, report.r_volatility], axis=1)
    overall = [[e.value for e in (report.R, report.R_bias, report.R_volatility)]]
    return np.concatenate([groups, overall])


def _ends(report: RiskReport) -> tuple[FloatArray, FloatArray]:
    """[X+1,3] low and high; NaN where there is no interval."""
    X = len(report.groups)
    ends = np.full((X + 1, 3, 2), np.nan)
    found = report.intervals
    if found is not None:
        ends[:-1] = np.stack([found.r, found.r_bias, found.r_volatility], axis=1)
        for m, e in enumerate((report.R, report.R_bias, report.R_volatility)):
            if e.low is not None and e.high is not None:
                ends[-1, m] = e.low, e.high
    return ends[..., 0], ends[..., 1]


def _differences(a: _Measured, b: _Measured, level: float) -> dict[str, FloatArray]:
    """The fields of `Difference`, each [X+1,3]."""
    gap = snap(a.value - b.value)
    rho = _correlation(a, b)

    def arm(of_a: FloatArray, of_b: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(of_a**2 + of_b**2 - 2 * rho * of_a * of_b, 0.0))

    below = arm(a.value - a.low, b.high - b.value)
    above = arm(a.high - a.value, b.value - b.low)
    parts = a.variance**2 / a.freedom[:, None] + b.variance**2 / b.freedom[:, None]
    both = (a.variance + b.variance) ** 2
    freedom = np.divide(both, parts, out=np.ones_like(parts), where=parts > 0)
    quantile = stdtrit(freedom, (1 + level) / 2)
    linear = quantile * arm(np.sqrt(a.variance), np.sqrt(b.variance))
    start, stop = CLEAR
    share = float(np.clip((min(a.clear, b.clear) - start) / (stop - start), 0.0, 1.0))
    for ends in (below, above):  # of R^b and R^v of all groups together
        ends[-1, 1:] = np.sqrt(share * linear[-1, 1:] ** 2 + (1 - share) * ends[-1, 1:] ** 2)
    reach = np.where(gap > 0, below, above)
    t = quantile * np.abs(gap)
    far = np.divide(t, reach, out=np.full_like(t, np.nan), where=reach > ROUNDING)
    p = np.where(np.abs(gap) <= ROUNDING, 1.0, 2 * stdtr(freedom, -far))
    return {
        "value": snap(a.plug_in - b.plug_in),
        "corrected": gap,
        "low": gap - below,
        "high": gap + above,
        "p": np.where(np.isnan(reach), np.nan, p),
    }


def _correlation(a: _Measured, b: _Measured) -> FloatArray:
    """[X+1,3], of the errors of two models, from the units that both have."""
    _, in_a, in_b = np.intersect1d(a.units, b.units, return_indices=True)
    shared = (a.residuals[in_a] * b.residuals[in_b]).sum(axis=0)
    root = np.sqrt((a.residuals**2).sum(axis=0) * (b.residuals**2).sum(axis=0))
    found = np.divide(shared, root, out=np.zeros_like(root), where=root > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _row(
    found: dict[str, FloatArray], x: int, m: int, pair: tuple[str, str], group: str | None
) -> Difference:
    a, b = pair
    measure = (OVERALL if group is None else BY_GROUP)[m]
    numbers = {name: plain(values[x, m]) for name, values in found.items()}
    return Difference(a=a, b=b, measure=measure, group=group, p_holm=None, **numbers)
