"""Do models differ? Differences of the risks, with intervals, p-values and ranks.

`compare` takes models asked in the same contexts, `compare_unpaired` models asked in their own,
`for_draws` adapts a comparison to a set or a corpus, and `margin_verdicts` says whether one is
worse by more than a margin.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from clinometer.display.notebook import frame, titled_html
from clinometer.display.numbers import MISSING, counted, p_relation, p_value, show
from clinometer.errors import SettingsError
from clinometer.measure.comparison_engine import (
    Contrasts,
    by_unit,
    flipped,
    paired_risks,
    signal,
)
from clinometer.measure.correction import Units
from clinometer.measure.grid import PreferenceArguments, PreferenceGrid, as_cells, read_preferences
from clinometer.measure.group_split import context_means
from clinometer.measure.intervals import estimate_grid
from clinometer.measure.results import RiskReport
from clinometer.measure.risk import decompose_grid
from clinometer.settings import LEVEL, POSITIVE, SEED
from clinometer.statistics.arrays import (
    ROUNDING,
    BoolArray,
    FloatArray,
    as_labels,
    as_mask,
    plain,
    snap,
)
from clinometer.statistics.significance import holm

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

OVERALL = ("R", "R_bias", "R_volatility")
BY_GROUP = ("r", "r_bias", "r_volatility")


def compare(
    *p: ArrayLike,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
    samples: Sequence[ArrayLike | None] | None = None,
    **given: Unpack[PreferenceArguments],
) -> Comparison:
    """Paired differences of the risks of models scored on the same groups in the same contexts.

    The resampling unit is the context, the same for every model: what all models share in a
    context cancels in the difference. Groups are fixed. The bias risk is compared after
    subtracting its noise bias, because the plug-in value is too high by an amount that grows
    with a model's volatility. docs/compare.md has the construction and its type I error.

    Args:
        p: [X,C,Y] of each model, at least two models.
        names: of the models; None numbers them.
        given: weights, reference, labels and criterion, as in `decompose`.
        mask: [X,C] or [M,X,C], True = observed. A cell counts when all models have it.
        level: of the intervals.
        seed: of the noise that the bias risk is corrected for; same seed, same numbers.
        clusters: [C] labels of contexts that are resampled together (predicate, source).
        samples: for each model the number of answers behind p, see `sampled_correction`, or None
            where p is exact. Counting lifts a risk, the more the fewer answers; it is taken out of
            each model by itself, and R_between, for which that is not known, is left out.

    The intervals and p-values of all groups together are corrected for the number of pairs, so that
    an interval excludes 0 exactly when its p-value is below 1 - level, and the range of ranks of a
    model follows from them. Those of single groups are each on their own, and p_corrected is for
    all of them.

    Returns:
        `Comparison`. p = 1 for the same answers twice. A difference that is the same in every
        context has no spread: its interval has width 0, or is None from fewer than 30 effective
        contexts, and its p is the least that C contexts allow, 2^(1 - C).

    Five contexts or fewer (at 95 %) cannot show a difference: low and high are None. A single
    context (or cluster) has neither interval nor p-value.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.beta(6, 4, (2, 5, 80))
    >>> result = compare(np.stack([a, 1 - a], -1), np.stack([b, 1 - b], -1), names=["A", "B"])
    >>> [d.measure for d in result.overall if d.p > 0.05]
    ['R', 'R_bias', 'R_volatility', 'R_between']
    """
    arrays = [as_cells(one) for one in p]
    models = as_labels(names, len(arrays), name="names")
    if len(arrays) < 2:
        raise SettingsError(f"compare: expected at least two models, found {len(arrays)}")
    shape = arrays[0].shape
    for model, array in zip(models, arrays, strict=True):
        if array.shape != shape:
            raise SettingsError(
                f"compare: expected the same groups, contexts and categories, found {shape} for "
                f"{models[0]!r} and {array.shape} for {model!r}; align the runs first"
            )
    LEVEL.check("level", level)
    SEED.check("seed", seed)
    C = shape[1]
    given["mask"] = common_mask(given.get("mask"), models, (shape[0], C))
    grid = read_preferences(arrays[0], **given)
    units, n_clusters = _units(clusters, C)
    pairs = list(itertools.combinations(range(len(arrays)), 2))
    grids = [grid, *(grid.holding(array) for array in arrays[1:])]
    draws = paired_risks(
        grids,
        units=units,
        pairs=pairs,
        level=level,
        overall_level=joint_level(level, len(pairs)),
        seed=seed,
        samples=samples,
    )
    labels = [(models[i], models[j]) for i, j in pairs]
    overall = _differences(draws.total, labels, OVERALL, (None,))
    values = {measure: draws.overall[:, m] for m, measure in enumerate(OVERALL)}
    exact = all(m is None for m in samples or ())
    if exact and not grid.relative and len(grid.groups) > 1:
        values["R_between"], more = _between(grids, units, labels, pairs, level)
        overall += more
    everything = for_all_pairs(overall, len(pairs))
    by_group = _differences(draws.groups, labels, BY_GROUP, grid.groups)
    return Comparison(
        models=models,
        groups=grid.groups,
        overall=everything,
        by_group=tuple(
            d for pair in labels for d in with_holm([d for d in by_group if (d.a, d.b) == pair])
        ),
        ranks=tuple(ranks_from_tests(values, everything, models, float(level))),
        n_contexts=C,
        n_eff=draws.n_eff,
        n_clusters=n_clusters,
        missing_cells=grid.missing_cells,
        level=float(level),
        seed=int(seed),
    )


def common_mask(
    mask: ArrayLike | None, models: tuple[str, ...], shape: tuple[int, int]
) -> BoolArray | None:
    """Cells that every model has."""
    if mask is None or np.ndim(mask) < 3:
        return as_mask(mask, shape)
    given = np.asarray(mask)
    if given.shape[0] != len(models):
        raise SettingsError(
            f"mask: expected one for each of {len(models)} models, found {given.shape[0]}"
        )
    each = [as_mask(part, shape) for part in given]
    return np.asarray(np.logical_and.reduce([part for part in each if part is not None]))


def _units(clusters: Sequence[object] | None, C: int) -> tuple[NDArray[np.intp], int | None]:
    """The index of each context's resampling unit, and the number of clusters."""
    if clusters is None:
        return np.arange(C, dtype=np.intp), None
    labels = [str(label) for label in clusters]
    if isinstance(clusters, str) or len(labels) != C:
        raise SettingsError(f"clusters: expected {C} labels, one a context, found {len(labels)}")
    numbers = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.intp), len(numbers)


def _differences(
    contrasts: Contrasts,
    pairs: Sequence[tuple[str, str]],
    measures: Sequence[str],
    groups: Sequence[str | None],
) -> list[Difference]:
    return [
        Difference(
            a=a,
            b=b,
            measure=measure,
            group=group,
            value=plain(contrasts.value[q, x, m]),
            corrected=plain(contrasts.corrected[q, x, m]),
            low=plain(contrasts.low[q, x, m]),
            high=plain(contrasts.high[q, x, m]),
            p=plain(contrasts.p[q, x, m]),
            p_corrected=None,
        )
        for q, (a, b) in enumerate(pairs)
        for m, measure in enumerate(measures)
        for x, group in enumerate(groups)
    ]


def joint_level(level: float, pairs: int) -> float:
    """The level of each interval at which all pairs together have `level`."""
    return 1 - (1 - level) / max(pairs, 1)


def for_all_pairs(differences: Sequence[Difference], pairs: int) -> tuple[Difference, ...]:
    """The same with p_corrected for the number of pairs of models, as their intervals are."""
    return tuple(
        replace(d, p_corrected=None if d.p is None else min(1.0, d.p * pairs)) for d in differences
    )


def _between(
    grids: Sequence[PreferenceGrid],
    units: NDArray[np.intp],
    labels: Sequence[tuple[str, str]],
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> tuple[FloatArray, list[Difference]]:
    """R_between of each model [M], and the differences of each pair: paired means over contexts."""
    parts = [context_means(grid) for grid in grids]
    share = parts[0][0] / parts[0][0].sum()
    each = np.stack([between for _, _, between in parts])
    weights, rows = by_unit(share[None], units), []
    for (a, b), (i, j) in zip(labels, pairs, strict=True):
        d = each[i] - each[j]
        gap = snap(np.array([[share @ d]]))
        own = by_unit((share * (d - gap[0, 0]))[None], units)[..., None]
        low, high, p = flipped(gap, own, weights, joint_level(level, len(pairs)))[:, 0, 0]
        ends = {"low": plain(low), "high": plain(high), "p": plain(p)}
        value = float(gap[0, 0])
        rows.append(
            Difference(a, b, "R_between", None, value, corrected=value, p_corrected=None, **ends)
        )
    return each @ share, rows


def ranks_from_tests(
    values: Mapping[str, FloatArray],
    overall: Sequence[Difference],
    models: tuple[str, ...],
    level: float,
) -> list[Rank]:
    """Ranks by value, and the range of ranks that the tests of the pairs leave open."""
    ranks = []
    for measure, each in values.items():
        order = 1 + (each[:, None] > each[None] + ROUNDING).sum(axis=1)
        below, above = dict.fromkeys(models, 0), dict.fromkeys(models, 0)
        for d in overall:
            if d.measure == measure and (sign := d.clear_sign(level)):
                lower, higher = (d.b, d.a) if sign > 0 else (d.a, d.b)
                below[higher] += 1
                above[lower] += 1
        for i, model in enumerate(models):
            ends = 1 + below[model], len(models) - above[model]
            ranks.append(
                Rank(model, measure, float(each[i]), int(order[i]), low=ends[0], high=ends[1])
            )
    return ranks


def with_holm(differences: list[Difference]) -> tuple[Difference, ...]:
    """The same with p_corrected over all of them."""
    family = holm([np.nan if d.p is None else d.p for d in differences])
    return tuple(replace(d, p_corrected=plain(p)) for d, p in zip(differences, family, strict=True))


# --- What a comparison returns ------------------------------------------------------------------


#: Over the cells of a difference.
DIFFERENCE_HEADINGS = ("first minus second", "risk", "difference", "interval", "p (corrected)")


@dataclass(frozen=True, repr=False)
class Difference:
    """Model a minus model b in one risk. Positive: a has the higher risk.

    Attributes:
        a, b: names of the models.
        measure: "R", "R_bias", "R_volatility", or "r", .. for a group.
        group: its name; None for all groups together.
        value: plug-in difference; None when the group was not observed.
        corrected: the difference after correction for few contexts; the interval is around it.
        low, high: the interval; None when too few contexts carry most of the weight.
        p: two-sided p-value of no difference, by swapping the models in each context.
        p_corrected: the same after Holm's correction over the groups and measures of this pair;
            for all groups together, corrected for the pairs of models, as the interval is.
    """

    a: str
    b: str
    measure: str
    group: str | None
    value: float | None
    corrected: float | None
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None

    def __repr__(self) -> str:
        of = "" if self.group is None else f" of {self.group!r}"
        return f"{self.a!r} − {self.b!r}: {self.measure}{of} {self.shown}, p {p_relation(self.p)}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return titled_html("Difference", DIFFERENCE_HEADINGS, [self.cells()])

    def clear_sign(self, level: float) -> int:
        """1 or -1 where a is clearly higher or lower than b, else 0: by the interval, or by
        p_corrected for a difference without spread, which has none."""
        if self.low is not None and self.high is not None:
            return int(self.low > 0) - int(self.high < 0)
        if self.p_corrected is None or self.p_corrected > 1 - level:
            return 0
        return int(np.sign(self.corrected or 0.0))

    @property
    def shown(self) -> str:
        """The difference and its interval: +0.087 (+0.053 to +0.119)."""
        return show(self.value, "signed") + (f" ({ends})" if (ends := self._interval()) else "")

    def cells(self) -> list[str]:
        """As a row of a table under DIFFERENCE_HEADINGS."""
        measure = self.measure if self.group is None else f"{self.measure} of {self.group}"
        interval = self._interval() or MISSING
        value = show(self.value, "signed")
        return [f"{self.a} − {self.b}", measure, value, interval, p_value(self.p_corrected)]

    def _interval(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return f"{show(self.low, 'signed')} to {show(self.high, 'signed')}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class Rank:
    """Where a model stands in one risk: rank 1 is the lowest.

    Attributes:
        model, measure: which.
        value: plug-in risk.
        rank: of the plug-in value; tied models share the lower rank.
        low, high: ranks that the tests of `compare` leave open.
    """

    model: str
    measure: str
    value: float
    rank: int
    low: int | None = None
    high: int | None = None

    def __repr__(self) -> str:
        return f"{self.model!r}: {self.measure} {self.value:.3f}, rank {self.rank}"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class ContextCount:
    """How many contexts a model was asked in, and how many even ones they are worth."""

    contexts: int
    n_eff: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `compare` returns.

    Attributes:
        models, groups: names.
        overall: differences of R, R_bias, R_volatility of each pair of models.
        by_group: differences of r, r_bias, r_volatility of each pair, measure and group.
        ranks: of each model in each measure.
        n_contexts, n_eff: number of contexts, and effective number of resampling units.
        n_clusters: clusters that were resampled; None if contexts were.
        missing_cells: cells left out because some model was not observed there.
        level, seed: as used.
        own_contexts: of each model, where each was asked in its own contexts; empty where they
            share them. n_contexts is then the sum, n_eff the smallest.
    """

    models: tuple[str, ...]
    groups: tuple[str, ...]
    overall: tuple[Difference, ...]
    by_group: tuple[Difference, ...]
    ranks: tuple[Rank, ...]
    n_contexts: int
    n_eff: float
    n_clusters: int | None
    missing_cells: int
    level: float
    seed: int
    own_contexts: tuple[ContextCount, ...] = ()

    def __repr__(self) -> str:
        if len(self.models) == 2:
            a, b = self.models
            found = ", ".join(f"{d.measure} {d.shown}" for d in self.overall)
            return f"Comparison({a!r} − {b!r}: {found})"
        names = ", ".join(map(repr, self.models))
        size = f"{counted(len(self.groups), 'group')}, {counted(self.n_contexts, 'context')}"
        return f"Comparison({names}; {size})"

    def table(self) -> list[dict[str, Any]]:
        """One plain row per difference, the overall ones first."""
        return [d.to_dict() for d in (*self.overall, *self.by_group)]

    def to_pandas(self) -> DataFrame:
        """One row per difference, the overall ones first; group is None for those."""
        return frame(self.table())

    def _repr_html_(self) -> str:
        """What a notebook shows: the overall differences."""
        note = (
            f"{len(self.groups)} groups, {self.n_contexts:,} contexts, {self.n_eff:,.1f} "
            f"effective; {self.level:.0%} intervals, p times the number of pairs"
        )
        rows = [d.cells() for d in self.overall]
        return titled_html("Differences", DIFFERENCE_HEADINGS, rows, note)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values for JSON; None where there is no number."""
        return {
            "models": list(self.models),
            "groups": list(self.groups),
            "overall": [d.to_dict() for d in self.overall],
            "by_group": [d.to_dict() for d in self.by_group],
            "ranks": [rank.to_dict() for rank in self.ranks],
            "n_contexts": self.n_contexts,
            "n_eff": self.n_eff,
            "n_clusters": self.n_clusters,
            "missing_cells": self.missing_cells,
            "level": self.level,
            "seed": self.seed,
            "own_contexts": [dict(vars(one)) for one in self.own_contexts],
        }


# --- Models asked in different contexts ----------------------------------------------------------


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
    n_eff                      effective number of units
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
    n_eff: float


def compare_unpaired(
    models: Sequence[OwnContexts],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Differences between models over the same groups, each in its own contexts.

    All grids have the same groups, group weights and categories. p-values are those of Student's t
    through the end of the interval that is nearer to 0: below 1 - level exactly when the interval
    excludes 0. There is neither interval nor p-value where the audit of a model has no interval.

    """
    names = tuple(model.name for model in models)
    groups = models[0].grid.groups
    measured = [_measured(model, level=level) for model in models]
    n = len(models) * (len(models) - 1) // 2
    joint = joint_level(level, n)
    apart = measured if n == 1 else [_measured(model, level=joint) for model in models]
    rows: list[Difference] = []
    overall: list[Difference] = []
    for i, j in itertools.combinations(range(len(models)), 2):
        found = _unpaired_differences(measured[i], measured[j], level)
        pair = names[i], names[j]
        rows += with_holm([_row(found, x, m, pair, g) for m in (0, 1, 2)
                           for x, g in enumerate(groups)])  # fmt: skip
        found = found if n == 1 else _unpaired_differences(apart[i], apart[j], joint)
        overall += [_row(found, len(groups), m, pair, None) for m in (0, 1, 2)]
    last = np.stack([one.plug_in[-1] for one in measured])
    corrected_overall = for_all_pairs(overall, n)
    sizes = tuple(
        ContextCount(model.grid.n_contexts, one.n_eff)
        for model, one in zip(models, measured, strict=True)
    )
    clustered = any(len(set(m.units)) < m.grid.n_contexts for m in models)
    return Comparison(
        models=names,
        groups=groups,
        overall=corrected_overall,
        by_group=tuple(rows),
        ranks=tuple(
            ranks_from_tests(
                {measure: last[:, m] for m, measure in enumerate(OVERALL)},
                corrected_overall,
                names,
                level,
            )
        ),
        n_contexts=sum(size.contexts for size in sizes),
        n_eff=min(size.n_eff for size in sizes),
        n_clusters=len(set().union(*(m.units for m in models))) if clustered else None,
        missing_cells=sum(model.grid.missing_cells for model in models),
        level=float(level),
        seed=int(seed),
        own_contexts=sizes,
    )


def _measured(model: OwnContexts, *, level: float) -> _Measured:
    clusters = list(model.units)
    report, _ = estimate_grid(model.grid, level=level, clusters=clusters, samples=model.samples)
    units = Units.of(model.grid, clusters=clusters, samples=model.samples)
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
        plug_in=_columns(decompose_grid(model.grid)),
        value=_columns(report),
        low=low,
        high=high,
        residuals=linear * whole[..., None],
        units=np.unique(np.array(clusters)[share > 0]),
        variance=(linear**2).sum(axis=0) * factor,
        freedom=np.append(units.freedom, units.group_weights @ units.freedom),
        clear=float(signal(units.mean[:, None], noise[:, None], units.group_weights)[0]),
        n_eff=1.0 / float(np.sum(units.slots**2)),
    )


def _linear(units: Units) -> FloatArray:
    """[U,X+1,3]: sqrt(w) times the deviation of each unit in r, r^b, r^v, and in their means."""
    risk = units.centred_risk()
    bias = units.criterion.slope(units.mean, units.centred())
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


def _unpaired_differences(a: _Measured, b: _Measured, level: float) -> dict[str, FloatArray]:
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
    return Difference(a=a, b=b, measure=measure, group=group, p_corrected=None, **numbers)


# --- Comparisons for a set or a corpus: occurrences are resampled, not contexts ------------------


def for_draws(
    comparison: Comparison,
    grids: Sequence[PreferenceGrid],
    *,
    draws: float,
    level: float,
    seed: int,
    replicates: int = 2000,
) -> Comparison:
    """The comparison with the errors of `draws` independent samples of its contexts instead.

    Values are plug-in estimates with normal intervals. inf: the contexts are the whole target, so
    there is no error, no interval and no p-value.
    """
    value, deviation = _replicates(grids, draws, replicates=replicates, seed=seed)
    pairs = list(itertools.combinations(comparison.models, 2))
    columns = {name: i for i, name in enumerate((None, *comparison.groups))}
    measures = {"R": 0, "R_bias": 1, "R_volatility": 2, "r": 0, "r_bias": 1, "r_volatility": 2}
    far, far_of_all = (float(ndtri(0.5 + p / 2)) for p in (level, joint_level(level, len(pairs))))

    def one(d: Difference) -> Difference:
        at = pairs.index((d.a, d.b)), columns[d.group], measures[d.measure]
        known = float(value[at]), float(deviation[at])
        if d.value is None or np.isnan(known).any():
            return replace(d, low=None, high=None, p=None, p_corrected=None)
        middle, sd = known
        if np.isinf(draws):
            return replace(d, corrected=middle, low=None, high=None, p=None, p_corrected=None)
        p = 1.0 if abs(middle) <= ROUNDING else float(2 * ndtr(-abs(middle) / sd)) if sd else 0.0
        reach = (far if d.group is not None else far_of_all) * sd
        low, high = middle - reach, middle + reach
        return replace(d, corrected=middle, low=low, high=high, p=p, p_corrected=None)

    overall = for_all_pairs(
        [one(d) for d in comparison.overall if d.measure in measures], len(pairs)
    )
    values = {
        name: np.array([r.value for r in comparison.ranks if r.measure == name]) for name in OVERALL
    }
    by_group = [one(d) for d in comparison.by_group]
    return replace(
        comparison,
        overall=overall,
        by_group=tuple(
            d for pair in pairs for d in with_holm([d for d in by_group if (d.a, d.b) == pair])
        ),
        ranks=tuple(ranks_from_tests(values, overall, comparison.models, comparison.level)),
    )


def _replicates(
    grids: Sequence[PreferenceGrid],
    draws: float,
    *,
    replicates: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Differences [P,X+1,3] and their standard deviations, first of all groups together."""
    n = 2 if np.isinf(draws) else max(2, round(draws))
    units = [Units.of(g, drawn=True, draws=n) for g in grids]
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
    return value, deviation


def _risks(units: Units, multipliers: FloatArray) -> FloatArray:
    """[B,X+1,3]: r, r^b, r^v of all groups together and of each."""
    risk, mean = units.resampled(multipliers)
    bias = units.criterion(mean)
    parts = np.stack([risk, bias, risk - bias], axis=-1)
    parts = np.where((units.weight.sum(axis=0) > 0)[:, None], parts, np.nan)
    whole = np.nansum(units.group_weights[:, None] * parts, axis=1, keepdims=True)
    return np.concatenate([whole, parts], axis=1)


# --- Margins: non-inferiority and equivalence ----------------------------------------------------


MARGIN_LEVEL = 0.9
"""Level of the intervals: each of the two one-sided tests then has a 5 % error rate."""


@dataclass(frozen=True)
class MarginVerdict:
    """What the interval of a difference (first minus second) says about a margin.

    verdict  "worse": the first is higher by more than the margin; "better": lower by more;
             "equivalent": within the margin either way; "not worse": less than the margin above
             the second; "cannot tell": none of these, or no interval
    """

    a: str
    b: str
    measure: str
    low: float | None
    high: float | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return dict(vars(self))


def margin_verdicts(comparison: Comparison, margin: float) -> list[MarginVerdict]:
    """The verdict of each overall difference of a comparison made with `level` MARGIN_LEVEL."""
    POSITIVE.check("margin", margin)
    return [
        MarginVerdict(d.a, d.b, d.measure, d.low, d.high, _verdict(d, margin))
        for d in comparison.overall
    ]


def _verdict(d: Difference, margin: float) -> str:
    if d.low is None or d.high is None:
        return "cannot tell"
    if d.low > margin:
        return "worse"
    if d.high < -margin:
        return "better"
    if d.high < margin:
        return "equivalent" if d.low > -margin else "not worse"
    return "cannot tell"
