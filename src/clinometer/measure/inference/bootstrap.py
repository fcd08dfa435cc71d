"""Intervals of the risks: contexts are resampled, all replicates at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.equations.risk import risks
from clinometer.measure.grid import PreferenceArguments, PreferenceGrid, read_preferences
from clinometer.measure.inference.correction import BiasModel, Correction, correct_units
from clinometer.measure.inference.interval_engine import Replicates
from clinometer.measure.inference.resampling_units import Units
from clinometer.measure.results import GroupIntervals, RiskReport
from clinometer.ranges import LEVEL, SEED, SOME_REPLICATES
from clinometer.statistics.arrays import FloatArray, snap
from clinometer.statistics.estimate import Estimate

Method = Literal["inverted", "percentile", "bca"]
Unit = Literal["contexts", "contexts+groups", "draws", "draws+groups"]


def bootstrap(
    p: ArrayLike,
    *,
    norm: float = np.inf,
    normalize: bool = True,
    replicates: int = 2000,
    level: float = 0.95,
    method: Method = "inverted",
    unit: Unit = "contexts",
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    correct: bool = True,
    **given: Unpack[PreferenceArguments],
) -> RiskReport:
    """The report of `decompose` with corrected values and an interval for every risk.

    Args:
        p, norm, normalize, and context_weights, group_weights, reference, mask, groups,
            categories (`given`): as for `decompose`.
        replicates: how many times the units are resampled, at least 100.
        level: the share of intervals that should hold the truth.
        method: "inverted" (the default): every true r^b is kept under which the estimate is not
            surprising, judged by replicates around that truth and widened as Student's t
            widens the normal; "percentile" or "bca": quantiles of the replicates, too narrow
            with few contexts and off near parity, for comparison.
        unit: "contexts": the contexts are a sample of those that could be asked, their weights
            given; "draws": they were drawn by weight from a larger set, context_weights [C] count
            how often, and the target is that set. With "+groups" the groups are a sample too.
        clusters: [C] labels (predicate, source): whole clusters are resampled.
        samples: how many answers p was counted from, see `sampled_correction`; None: p is exact.
        seed: whole number or Generator; the same seed gives the same intervals.
        correct: show corrected values (see `corrected`); False shows the plug-in ones. The
            interval of "inverted" is the same for both.

    Returns:
        `RiskReport` with `intervals` and the ends of R, R_bias, R_volatility. n_eff counts units:
        clusters or draws where these are resampled.

    Degenerate input: with a single effective unit nothing can be said, and values come back
    without intervals; a group with one observed unit has a NaN row. Contexts that all agree give
    intervals of width 0. Errors as for `decompose`.

    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(5, 5, (40, 60))                       # R = R^v = 0.246, R^b = 0
    >>> report = bootstrap(np.stack([p, 1 - p], axis=-1), replicates=500)
    >>> [round(float(v), 2) for v in (report.R_volatility.low, report.R_volatility.high)]
    [0.21, 0.26]
    >>> report.R_bias.low
    0.0
    """
    report, _ = estimate(
        read_preferences(p, **given),
        norm=norm,
        normalize=normalize,
        replicates=replicates,
        level=level,
        method=method,
        unit=unit,
        clusters=clusters,
        samples=samples,
        seed=seed,
        correct=correct,
    )
    return report


def estimate(
    grid: PreferenceGrid,
    *,
    norm: float = np.inf,
    normalize: bool = True,
    replicates: int = 2000,
    level: float = 0.95,
    method: Method = "inverted",
    unit: Unit = "contexts",
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    correct: bool = True,
) -> tuple[RiskReport, Correction]:
    """`bootstrap` of preferences that have been read, and the correction of the same units."""
    _check(replicates, level=level, seed=seed, method=method, unit=unit)
    report = risks(grid, norm=norm, normalize=normalize)
    units = Units.of(
        grid,
        norm=norm,
        normalize=normalize,
        clusters=clusters,
        drawn=unit.startswith("draws"),
        samples=samples,
    )
    model = BiasModel.of(units)
    best = correct_units(units, model, sampled=samples is not None)
    if correct:
        report = replace(
            report,
            r=snap(best.r),
            r_bias=snap(best.r_bias),
            r_volatility=snap(best.r_volatility),
            R=best.R,
            R_bias=best.R_bias,
            R_volatility=best.R_volatility,
        )
    if clusters is not None or unit.startswith("draws"):
        report = replace(report, n_eff=float(1.0 / np.sum(units.slots**2)))
    if np.sum(units.slots**2) > 1 - 1e-9:
        return report, best
    two_way = unit.endswith("+groups")
    if two_way and np.sum(units.group_weights**2) > 1 - 1e-9:
        raise SettingsError(f"unit: expected at least two groups for {unit!r}, found one")
    generator = np.random.default_rng(seed)
    source = Replicates(units, model, correct=correct, two_way=two_way)
    top = 1.0 if normalize else np.inf
    if method == "inverted":
        bounds = source.inverted(generator, replicates, level=level)
    else:
        bounds = source.quantiles(generator, replicates, level=level, accelerate=method == "bca")
    return _with_bounds(report, bounds, level=level, method=method, top=top), best


def _with_bounds(
    report: RiskReport, bounds: FloatArray, *, level: float, method: str, top: float
) -> RiskReport:
    """The report with ends [3,X+1,2] cut to 0..top and stretched to hold the value shown."""
    bounds = snap(np.clip(bounds, 0.0, top))
    overall = []
    for i, shown in enumerate((report.R, report.R_bias, report.R_volatility)):
        low, high = (float(v) for v in bounds[i, -1])
        value = min(shown.value, top)
        name = method if shown.method == "plug-in" else f"{shown.method}, {method}"
        overall.append(Estimate(value, min(low, value), max(high, value), level, name))
    ends = []
    for i, values in enumerate((report.r, report.r_bias, report.r_volatility)):
        low_high = np.stack(
            [np.minimum(bounds[i, :-1, 0], values), np.maximum(bounds[i, :-1, 1], values)], axis=1
        )
        alone = ~(report.n_eff_by_group > 1 + 1e-9)  # NaN, a missing group, is alone as well
        low_high[alone] = np.nan
        ends.append(low_high)
    return replace(
        report,
        R=overall[0],
        R_bias=overall[1],
        R_volatility=overall[2],
        intervals=GroupIntervals(ends[0], ends[1], ends[2], level, method),
    )


def _check(
    replicates: int, *, level: float, seed: int | np.random.Generator, method: str, unit: str
) -> None:
    SOME_REPLICATES.check("replicates", replicates)
    LEVEL.check("level", level)
    if not isinstance(seed, np.random.Generator):
        SEED.check("seed", seed)
    for name, value, known in (("method", method, Method), ("unit", unit, Unit)):
        if value not in get_args(known):
            raise SettingsError(f"{name}: expected one of {get_args(known)}, found {value!r}")
