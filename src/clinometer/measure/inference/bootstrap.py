"""Intervals of the risks: how much they would change with other contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.equations.criterion import RiskScale
from clinometer.measure.equations.risk import risks
from clinometer.measure.grid import PreferenceArguments, PreferenceGrid, read_preferences
from clinometer.measure.inference.correction import BiasModel, Correction, correct_units
from clinometer.measure.inference.interval_engine import Replicates
from clinometer.measure.inference.inversion import inverted
from clinometer.measure.inference.noise import ExtraError, Noise
from clinometer.measure.inference.resampling_units import Units
from clinometer.measure.results import GroupIntervals, RiskReport
from clinometer.ranges import LEVEL, SEED, SOME_REPLICATES
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.estimate import Estimate

LEAST_EFFECTIVE = 4.0
"""Effective units needed for an interval of R^b or R^v: with 3.6 and 3.9, R^b was held in 88 to
92 % of the simulations where groups swing together; R^v was not tried below 4."""

LEAST_FOR_NONE = 30.0
"""With at least this many effective units, full agreement gives an interval of width 0."""

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
        p, norm, normalize: as for `decompose`.
        given: context_weights, group_weights, reference, mask, groups and categories, as for
            `decompose`.
        replicates: how many times the units are resampled, at least 100.
        level: the share of intervals that should contain the truth.
        method: "inverted" (the default): contains every true value under which the estimate is
            not surprising; nothing is random, so replicates and seed do not matter. "percentile"
            or "bca": quantiles of the replicates, too narrow with few contexts and wrong near
            parity, for comparison.
        unit: "contexts": the contexts are a sample of all possible ones, with given weights;
            "draws": they were sampled by weight from a larger set, context_weights [C] count how
            often, and the target is that set. With "+groups" the groups are a sample too.
        clusters: [C] labels (predicate, source): whole clusters are resampled.
        samples: the number of answers behind p, see `sampled_correction`; None: p is exact.
        seed: whole number or Generator; the same seed gives the same intervals.
        correct: show corrected values (see `corrected`); False shows the plug-in ones. The
            interval of "inverted" is the same for both.

    Returns:
        `RiskReport` with `intervals` and the ends of R, R_bias, R_volatility. n_eff counts units:
        clusters or draws where these are resampled.

    Degenerate input: a single effective unit gives values without intervals, and a group with one
    observed unit a NaN row. With fewer than four effective units R^v has no interval; if all units
    agree, no risk has one with fewer than 30, and with more its width is 0. `note` of an estimate
    says so. Errors as for `decompose`.

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
    replicates: int = 2000,
    level: float = 0.95,
    method: Method = "inverted",
    unit: Unit = "contexts",
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    correct: bool = True,
    draws: int | None = None,
    criteria: FloatArray | None = None,
    more: ExtraError | None = None,
    **scaling: Unpack[RiskScale],
) -> tuple[RiskReport, Correction]:
    """`bootstrap` of preferences that have been read, and the correction of the same units.

    With unit "draws", `draws` is the number of samples behind the weights; None: the weights are
    counts.
    `criteria` [C,X] is J of each cell, already corrected for the noise of counting;
    `more` are errors beside that of the contexts, for "inverted" intervals.
    """
    _check(replicates, level=level, seed=seed, method=method, unit=unit)
    report = risks(grid, **scaling)
    units = Units.of(
        grid,
        clusters=clusters,
        drawn=unit.startswith("draws"),
        draws=draws,
        samples=samples,
        criteria=criteria,
        **scaling,
    )
    model = BiasModel.of(units)
    counted = samples is not None or criteria is not None
    best = correct_units(units, model, sampled=counted)
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
    elif counted:  # counting noise inflates shares of answers: no estimate
        # It inflates their mean too, if less; and r is never below r^b.
        r, R = np.maximum(best.r, 0.0), max(best.R.value, 0.0)
        r_bias, R_bias = np.minimum(report.r_bias, r), min(report.R_bias.value, R)
        report = replace(
            report,
            r=snap(r),
            r_bias=snap(r_bias),
            r_volatility=snap(r - r_bias),
            R=Estimate(R, method="sampled"),
            R_bias=replace(report.R_bias, value=R_bias),
            R_volatility=Estimate(R - R_bias, method="sampled"),
        )
    if clusters is not None or unit.startswith("draws"):
        report = replace(report, n_eff=float(1.0 / np.sum(units.slots**2)))
    if np.sum(units.slots**2) > 1 - 1e-9:
        return report, best
    two_way = unit.endswith("+groups")
    if two_way and np.sum(units.group_weights**2) > 1 - 1e-9:
        raise SettingsError(f"unit: expected at least two groups for {unit!r}, found one")
    top = 1.0 if report.normalized else np.inf
    if method == "inverted":
        bounds = inverted(Noise.of(units, more), level=level, top=top, two_way=two_way)
    else:
        source = Replicates(units, model, correct=correct, two_way=two_way)
        generator = np.random.default_rng(seed)
        bounds = source.quantiles(generator, replicates, level=level, accelerate=method == "bca")
    # r, and with it r^v, may be off by as much, regardless of the contexts; r^b is not concerned.
    bounds[[0, 2]] += units.allowance * np.array([-1.0, 1.0])
    sizes = 1.0 / np.append(units.spread, np.sum(units.slots**2))
    return _with_bounds(report, bounds, sizes, level=level, method=method, top=top), best


def _with_bounds(
    report: RiskReport,
    bounds: FloatArray,
    sizes: FloatArray,
    *,
    level: float,
    method: str,
    top: float,
) -> RiskReport:
    """The report with ends [3,X+1,2] clipped to 0..top and stretched to contain the value shown.

    No interval where `sizes` [X+1], the effective units, are too few: fewer than
    LEAST_EFFECTIVE for r^v and R^b, or than LEAST_FOR_NONE where all units agree.
    """
    bounds = snap(np.clip(bounds, 0.0, top))
    overall, ends = [], []
    for i, (shown, values) in enumerate(
        (
            (report.R, report.r),
            (report.R_bias, report.r_bias),
            (report.R_volatility, report.r_volatility),
        )
    ):
        every = np.append(values, min(shown.value, top))
        low, high = np.minimum(bounds[i, :, 0], every), np.maximum(bounds[i, :, 1], every)
        agree = (high - low <= ROUNDING) & (sizes < LEAST_FOR_NONE)
        few = (sizes < LEAST_EFFECTIVE) & (i == 2)
        few[-1] |= sizes[-1] < LEAST_EFFECTIVE and i == 1
        # NaN (a missing group) counts as a single unit too.
        alone = np.append(~(report.n_eff_by_group > 1 + 1e-9), False)
        gone = agree | few | alone
        ends.append(np.where(gone[:-1, None], np.nan, np.stack([low, high], axis=1)[:-1]))
        name = method if shown.method == "plug-in" else f"{shown.method}, {method}"
        if gone[-1]:
            needed = LEAST_EFFECTIVE if few[-1] else LEAST_FOR_NONE
            note = "all contexts agree, and they are" if agree[-1] and not few[-1] else "these are"
            note += f" too few contexts to tell; {needed:.0f} effective ones would do"
            overall.append(Estimate(float(every[-1]), method=shown.method, note=note))
        else:
            value, *both = (float(v) for v in (every[-1], low[-1], high[-1]))
            overall.append(Estimate(value, both[0], both[1], level, name))
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
