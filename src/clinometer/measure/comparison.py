"""Do models differ? Differences of the risks, with intervals, p-values and ranks.

`compare` takes models asked in the same contexts, `compare_unpaired` models asked in their own. The
risks of each model are those of `inference.bracket`; a difference is that of their middles, tested
by swapping the models in each context.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from clinometer.display.notebook import frame, titled_html
from clinometer.display.numbers import (
    MISSING,
    counted,
    p_relation,
    percent,
    show,
)
from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.measure.context_means import unit_means
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    as_cells,
    read_preferences,
)
from clinometer.measure.inference import Bracket, bracket
from clinometer.measure.preferences import Preferences
from clinometer.measure.risks import CONTEXT_RISKS, GROUP_RISKS, MEASURES, Risk
from clinometer.settings import LEVEL, SEED
from clinometer.statistics.arrays import ROUNDING, FloatArray, as_labels, plain, snap
from clinometer.statistics.intervals.flips import flip_test
from clinometer.statistics.intervals.reach import student_reach
from clinometer.statistics.significance import holm

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

BY_GROUP = tuple(GROUP_RISKS)


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

    The unit is the context, the same for every model: what all models share in a context cancels
    in the difference. Groups are fixed. A difference is that of the middles of two brackets, and
    may be off by half the difference of their widths: two models lie at the same place in theirs.
    docs/compare.md has the construction and its type I error.

    Args:
        p: [X,C,Y] of each model, at least two models.
        names: of the models; None numbers them.
        given: weights, reference, labels, criterion and the mask of cells that all models have, as
            in `decompose`.
        level: of the intervals.
        seed: of the splits that brackets are made with; same seed, same numbers.
        clusters: [C] labels of contexts that were sampled together (predicate, source).
        samples: for each model the number of replies behind p, or None where p is exact. R_between
            of replies is not known and is left out.

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
        raise SettingsError(
            f"compare: expected at least two models, found {len(arrays)}"
        )
    shape = arrays[0].shape
    for model, array in zip(models, arrays, strict=True):
        if array.shape != shape:
            raise SettingsError(
                f"compare: expected the same groups, contexts and categories, found {shape} for "
                f"{models[0]!r} and {array.shape} for {model!r}; align the runs first"
            )
    LEVEL.check("level", level)
    SEED.check("seed", seed)
    grid = read_preferences(arrays[0], **given)
    grids = [grid, *(grid.holding(array) for array in arrays[1:])]
    replies = samples or [None] * len(grids)
    found = [
        bracket(Evidence.of(one, clusters=clusters, samples=n), level=level, seed=seed)
        for one, n in zip(grids, replies, strict=True)
    ]
    pairs = list(itertools.combinations(range(len(grids)), 2))
    joint = 1 - (1 - level) / len(
        pairs
    )  # of each interval, so that all together have `level`
    overall: list[Difference] = []
    by_group: list[Difference] = []
    for i, j in pairs:
        a, b, pair = found[i], found[j], (models[i], models[j])
        whole = _paired(a, b, slice(-1, None), joint)
        overall += _rows(pair, MEASURES, (None,), whole, len(pairs))
        each = _paired(a, b, slice(-1), level)
        _rule_out_opposites(each, a, b, level)
        by_group += _rows(pair, BY_GROUP, grid.groups, each)
    values = dict(
        zip(MEASURES, np.array([one.value[:, -1] for one in found]).T, strict=True)
    )
    sampled = any(n is not None for n in replies)
    for risk in CONTEXT_RISKS:
        if risk.compared and risk.is_measured(grid, sampled=sampled):
            values[risk.name], tests = _of_means(risk, grids, clusters, pairs, joint)
            for (i, j), tested in zip(pairs, tests, strict=True):
                pair = models[i], models[j]
                overall += _rows(pair, (risk.name,), (None,), tested, len(pairs))
    return Comparison(
        models=models,
        groups=grid.groups,
        overall=tuple(overall),
        by_group=tuple(by_group),
        ranks=tuple(ranks_from_tests(values, overall, models, float(level))),
        n_contexts=shape[1],
        n_eff=found[0].evidence.n_eff,
        n_clusters=None if clusters is None else len(set(map(str, clusters))),
        missing_cells=grid.missing_cells,
        level=float(level),
        seed=int(seed),
    )


def _along(a: Bracket, b: Bracket) -> list[tuple[FloatArray, FloatArray]]:
    """Twice what each unit contributes to the risks of two models, [3,U,X+1] each.

    First r^b runs along each model's own direction, which is right where the leans are well known.
    Then along that of their mean, which is right where one model only seems to lean the other way:
    the distance between two sizes is at most that along any direction that both share.
    """
    J = a.evidence.criterion
    shared = J.gradient(a.evidence.mean + b.evidence.mean)
    along = []
    for one in (a, b):
        e = one.evidence
        line = e.with_whole(np.einsum("uxk,xk->ux", e.s, shared))
        along.append(
            np.stack([one.contributions[0], line, one.contributions[0] - line])
        )
    return [(a.contributions, b.contributions), (along[0], along[1])]


def _paired(a: Bracket, b: Bracket, columns: slice, level: float) -> FloatArray:
    """[4,3,T], differences of two models in the same units with their low, high and p, from what
    each contributes along several lines: the farthest ends and the largest p."""
    gap, slack = (
        snap(a.value - b.value)[:, columns],
        np.abs(a.half_width - b.half_width)[:, columns].ravel(),
    )
    gap = gap + np.where(a.weights[:, columns].any(axis=0), 0.0, np.nan)
    weights = np.tile(a.weights[:, columns], 3)
    found = []
    for first, second in _along(a, b):
        each = np.moveaxis((first - second)[..., columns], 0, 1)
        flat = gap.ravel(), each.reshape(len(each), -1), weights
        test = flip_test(*flat, level=level, slack=slack)
        found.append((test.low, test.high, test.p_value))
    low, high, p = np.stack(found, axis=1)
    ends = low.min(axis=0), high.max(axis=0), p.max(axis=0)
    return np.stack([gap, *(part.reshape(gap.shape) for part in ends)])


def _rule_out_opposites(
    tested: FloatArray, a: Bracket, b: Bracket, level: float
) -> None:
    """Leave r^b of a group open where both models may lean equally far, in opposite directions.

    What moves both in one context moves one of them away from parity and the other towards it, and
    then cancels in the difference if one only seems to lean as the other does. Of two categories,
    leans of equal size are equal or opposite, so a difference has to rule out that their sum is 0,
    too; of more, this asks for more than is needed.
    """
    _, low, high, p = tested
    weights, both = a.weights[:, :-1], (a.contributions + b.contributions)[1, :, :-1]
    total = (weights * both).sum(axis=0)
    opposite = flip_test(total, both, weights, level=level).p_value
    p[1] = np.maximum(p[1], opposite)
    possible = opposite > 1 - level
    low[1] = np.where(possible, np.minimum(low[1], 0.0), low[1])
    high[1] = np.where(possible, np.maximum(high[1], 0.0), high[1])


def _rows(
    pair: tuple[str, str],
    measures: Sequence[str],
    groups: Sequence[str | None],
    tested: FloatArray,
    pairs: int | None = None,
) -> list[Difference]:
    """Of two models, with p_corrected for that many pairs of models, as their intervals are; or
    without `pairs` over all of these rows."""
    p = tested[3]
    of_all = (
        holm(p.ravel()).reshape(p.shape)
        if pairs is None
        else np.minimum(p * pairs, 1.0)
    )
    return [
        Difference(*pair, measure, group, *map(plain, (*tested[:, m, x], of_all[m, x])))
        for m, measure in enumerate(measures)
        for x, group in enumerate(groups)
    ]


def _of_means(
    risk: Risk,
    grids: Sequence[PreferenceGrid],
    clusters: Sequence[object] | None,
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> tuple[FloatArray, list[FloatArray]]:
    """Return a risk that is a mean over contexts, of each model [M], and the paired test of each
    pair [4,1,1]."""
    models = [unit_means(grid, [risk], clusters) for grid in grids]
    shares = models[0].shares
    values = np.stack([model.values[0] for model in models])
    first, second = np.array(pairs).T
    differences = (values[first] - values[second]).T
    gap = snap(shares @ differences)
    weights = np.tile(shares[:, None], len(pairs))
    test = flip_test(gap, differences, weights, level=level)
    tested = np.stack([gap, test.low, test.high, test.p_value])
    return values @ shares, [pair[:, None, None] for pair in tested.T]


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
            low, high = 1 + below[model], len(models) - above[model]
            ranks.append(Rank(model, measure, float(each[i]), int(order[i]), low, high))
    return ranks


# --- What a comparison returns ------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Difference(Plain):
    """Model a minus model b in one risk. Positive: a has the higher risk.

    Attributes:
        a, b: names of the models.
        measure: "R", "R_bias", "R_volatility", or "r", .. for a group.
        group: its name; None for all groups together.
        value: of the values shown, the middles of two brackets; None when the group was not
            observed.
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
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None

    def __repr__(self) -> str:
        of = "" if self.group is None else f" of {self.group!r}"
        return f"{self.a!r} − {self.b!r}: {self.measure}{of} {self.shown}, p {p_relation(self.p)}"

    def clear_sign(self, level: float) -> int:
        """1 or -1 where a is clearly higher or lower than b, else 0: by the interval, or by
        p_corrected for a difference without spread, which has none."""
        if self.low is not None and self.high is not None:
            return int(self.low > 0) - int(self.high < 0)
        if self.p_corrected is None or self.p_corrected > 1 - level:
            return 0
        return int(np.sign(self.value or 0.0))

    @property
    def shown(self) -> str:
        """The difference and its interval: +0.087 (+0.053 to +0.119)."""
        return show(self.value, "signed") + (
            f" ({self.interval})" if self.interval else ""
        )

    @property
    def interval(self) -> str:
        """Its ends, or nothing."""
        if self.low is None or self.high is None:
            return ""
        return f"{show(self.low, 'signed')} to {show(self.high, 'signed')}"


@dataclass(frozen=True, repr=False)
class Rank(Plain):
    """Where a model stands in one risk: rank 1 is the lowest.

    Attributes:
        model, measure: which.
        value: the risk, as shown.
        rank: of that value; tied models share the lower rank.
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


@dataclass(frozen=True)
class ContextCount(Plain):
    """How many contexts a model was asked in, and how many even ones they are worth."""

    contexts: int
    n_eff: float


@dataclass(frozen=True, repr=False)
class Comparison(Plain):
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
            f"effective; {percent(self.level)} intervals, p times the number of pairs"
        )
        headings = (
            "first minus second",
            "risk",
            "difference",
            "interval",
            "p (corrected)",
        )
        rows = [
            [
                f"{d.a} − {d.b}",
                d.measure,
                show(d.value, "signed"),
                d.interval or MISSING,
                show(d.p_corrected, "p"),
            ]
            for d in self.overall
        ]
        return titled_html("Differences", headings, rows, note)


# --- Models asked in different contexts ----------------------------------------------------------


def compare_unpaired(
    models: Sequence[Preferences],
    *,
    names: Sequence[str],
    clusters: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Differences between models over the same groups, each in its own contexts.

    All have the same groups, group weights and categories. Contexts are told apart by their ids, or
    by the label of their cluster. Intervals and p-values are those of both audits, joined, less
    what units that both models have share. There is neither interval nor p-value where a model has
    a single unit.
    """
    pairs = list(itertools.combinations(range(len(models)), 2))
    labels = [p.contexts if clusters is None else p.label(clusters) for p in models]
    units = [list(dict.fromkeys(map(str, each))) for each in labels]
    evidence = [
        Evidence.of(p.grid, clusters=each, samples=p.samples)
        for p, each in zip(models, labels, strict=True)
    ]
    found, joint = (
        [bracket(one, level=at, seed=seed) for one in evidence]
        for at in (level, 1 - (1 - level) / len(pairs))
    )
    overall: list[Difference] = []
    by_group: list[Difference] = []
    for i, j in pairs:
        pair = names[i], names[j]
        each, whole = (
            _unpaired(one[i], one[j], units[i], units[j]) for one in (found, joint)
        )
        by_group += _rows(pair, BY_GROUP, models[0].groups, each[..., :-1])
        overall += _rows(pair, MEASURES, (None,), whole[..., -1:], len(pairs))
    values = dict(
        zip(MEASURES, np.array([one.value[:, -1] for one in found]).T, strict=True)
    )
    sizes = tuple(
        ContextCount(model.grid.shape[1], one.n_eff)
        for model, one in zip(models, evidence, strict=True)
    )
    clustered = any(
        len(u) < len(p.contexts) for u, p in zip(units, models, strict=True)
    )
    return Comparison(
        models=tuple(names),
        groups=models[0].groups,
        overall=tuple(overall),
        by_group=tuple(by_group),
        ranks=tuple(ranks_from_tests(values, overall, tuple(names), level)),
        n_contexts=sum(size.contexts for size in sizes),
        n_eff=min(size.n_eff for size in sizes),
        n_clusters=len(set().union(*units)) if clustered else None,
        missing_cells=sum(model.grid.missing_cells for model in models),
        level=float(level),
        seed=int(seed),
        own_contexts=sizes,
    )


def _unpaired(a: Bracket, b: Bracket, of_a: list[str], of_b: list[str]) -> FloatArray:
    """The same of two models in their own units: the arms of both intervals joined by their squares
    (MOVER, Zou and Donner 2008), and p through the end that is nearer to 0."""
    variance, freedom, away = [], [], []
    for one in (a, b):
        n = 1 / np.maximum((one.weights**2).sum(axis=0), ROUNDING) - 1.0
        off = one.weights * (
            one.contributions
            - (one.weights * one.contributions).sum(axis=1, keepdims=True)
        )
        variance.append(np.where(n > ROUNDING, (off**2).sum(axis=1), np.nan))
        freedom.append(np.maximum(n, 1.0))
        away.append(off)
    _, in_a, in_b = np.intersect1d(of_a, of_b, return_indices=True)
    shared = (away[0][:, in_a] * away[1][:, in_b]).sum(axis=1)
    size = np.sqrt(variance[0] * variance[1])
    rho = np.clip(
        np.divide(shared, size, out=np.zeros_like(size), where=size > 0), -1.0, 1.0
    )

    def arm(of_a: FloatArray, of_b: FloatArray) -> FloatArray:
        squared: FloatArray = of_a**2 + of_b**2 - 2 * rho * of_a * of_b
        return np.sqrt(np.maximum(squared, 0.0))

    gap = snap(a.value - b.value) + np.where(np.isnan(size), np.nan, 0.0)
    below = arm(a.value - a.low, b.high - b.value)
    above = arm(a.high - a.value, b.value - b.low)
    df = np.minimum(
        *freedom
    )  # of the smaller sample: far tails are those of its errors
    reach = np.where(gap > 0, below, above)
    t = student_reach(np.abs(gap), df, level=a.level)
    far = np.divide(t, reach, out=np.where(t > 0, np.nan, 0.0), where=reach > ROUNDING)
    known = np.where(
        np.isnan(far), np.nan, 0.0
    )  # no spread, and yet a difference: says little
    low, high = gap - below + known, gap + above + known
    return np.stack([snap(a.value - b.value), low, high, 2 * stdtr(df, -far)])
