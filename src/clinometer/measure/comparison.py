"""Do models differ? Differences of the risks, with intervals, p-values and ranks.

`compare` takes models asked in the same contexts; `unpaired.py` has models asked in their own. The
risks of each model are those of `bracket.bracket`; a difference is that of their middles, tested
by swapping the models in each context.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.bracket import Bracket, bracket
from clinometer.measure.context_means import UnitMeans, unit_means
from clinometer.measure.differences import (
    Comparison,
    Difference,
    ranks_from_tests,
)
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import (
    PreferenceArguments,
    as_cells,
    read_preferences,
)
from clinometer.measure.risks import CONTEXT_RISKS, GROUP_RISKS, MEASURES
from clinometer.settings import LEVEL, SEED
from clinometer.statistics.arrays import (
    FloatArray,
    RealArray,
    as_labels,
    plain,
    snap,
)
from clinometer.statistics.intervals.flips import FlipTest, flip_test
from clinometer.statistics.significance import holm


def compare(
    *p: ArrayLike,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
    samples: Sequence[ArrayLike | None] | None = None,
    **given: Unpack[PreferenceArguments],
) -> Comparison:
    """Return paired differences of the risks of models scored on the same groups in the same
    contexts.

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
    >>> [d.measure for d in result.overall if d.p <= 0.05]
    []
    """
    arrays = [as_cells(cells) for cells in p]
    models = as_labels(names, len(arrays), name="names")
    _check_shapes(arrays, models)
    LEVEL.check("level", level)
    SEED.check("seed", seed)
    grid = read_preferences(arrays[0], **given)
    grids = [grid, *(grid.holding(array) for array in arrays[1:])]
    replies = samples or [None] * len(grids)
    brackets = [
        bracket(
            Evidence.of(model, clusters=clusters, samples=n), level=level, seed=seed
        )
        for model, n in zip(grids, replies, strict=True)
    ]
    pairs = list(itertools.combinations(range(len(grids)), 2))
    joint_level = level_of_each(level, len(pairs))
    overall: list[Difference] = []
    by_group: list[Difference] = []
    for i, j in pairs:
        pair = models[i], models[j]
        a = brackets[i]
        b = brackets[j]
        all_groups = _paired(a, b, slice(-1, None), joint_level)
        overall += overall_differences(pair, MEASURES, all_groups, pairs=len(pairs))
        groups = _paired(a, b, slice(-1), level)
        groups = _with_possible_opposites(groups, a, b, level)
        by_group += group_differences(pair, grid.groups, groups)

    values = values_by_measure(brackets)
    sampled = any(n is not None for n in replies)
    for risk in CONTEXT_RISKS:
        if not risk.compared or not risk.is_measured(grid, sampled=sampled):
            continue
        units = [unit_means(model_grid, [risk], clusters) for model_grid in grids]
        values[risk.name] = np.array(
            [means.values[0] @ means.shares for means in units]
        )
        for i, j in pairs:
            pair = models[i], models[j]
            tested = _paired_means(units[i], units[j], joint_level)
            overall += overall_differences(pair, (risk.name,), tested, pairs=len(pairs))
    return Comparison(
        models=models,
        groups=grid.groups,
        overall=tuple(overall),
        by_group=tuple(by_group),
        ranks=tuple(ranks_from_tests(values, overall, models, float(level))),
        n_contexts=grid.shape[1],
        n_eff=brackets[0].evidence.n_eff,
        n_clusters=None if clusters is None else len(set(map(str, clusters))),
        missing_cells=grid.missing_cells,
        level=float(level),
        seed=int(seed),
    )


def _check_shapes(arrays: Sequence[RealArray], models: Sequence[str]) -> None:
    """Refuse a single model, and models of different shapes."""
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


def level_of_each(level: float, intervals: int) -> float:
    """Return the level of each of several intervals that hold together at `level`."""
    return 1 - (1 - level) / intervals


def values_by_measure(brackets: Sequence[Bracket]) -> dict[str, FloatArray]:
    """Return the risks of all groups together, [M] of M models, by the name of the measure."""
    values = np.array([risks.value[:, -1] for risks in brackets])
    return dict(zip(MEASURES, values.T, strict=True))


@dataclass(frozen=True, eq=False)
class DifferenceArrays:
    """Differences of two models in M measures and T groups, [M,T] each; NaN where unknown."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray

    def columns(self, columns: slice) -> DifferenceArrays:
        """Return some of the groups."""
        return DifferenceArrays(
            self.value[:, columns],
            self.low[:, columns],
            self.high[:, columns],
            self.p_value[:, columns],
        )

    def named(
        self,
        pair: tuple[str, str],
        measures: Sequence[str],
        groups: Sequence[str | None],
        p_corrected: FloatArray,
    ) -> list[Difference]:
        """Return the differences with their names and p-values corrected for several tests
        [M,T]."""
        differences = []
        for m, measure in enumerate(measures):
            for x, group in enumerate(groups):
                difference = Difference(
                    *pair,
                    measure,
                    group,
                    value=plain(self.value[m, x]),
                    low=plain(self.low[m, x]),
                    high=plain(self.high[m, x]),
                    p=plain(self.p_value[m, x]),
                    p_corrected=plain(p_corrected[m, x]),
                )
                differences.append(difference)
        return differences


def overall_differences(
    pair: tuple[str, str],
    measures: Sequence[str],
    tested: DifferenceArrays,
    *,
    pairs: int,
) -> list[Difference]:
    """Return differences of all groups together, with p_corrected for that many pairs of models, as
    their intervals are."""
    p_corrected = np.minimum(tested.p_value * pairs, 1.0)
    return tested.named(pair, measures, (None,), p_corrected)


def group_differences(
    pair: tuple[str, str], groups: Sequence[str], tested: DifferenceArrays
) -> list[Difference]:
    """Return differences of single groups, with p_corrected over all groups and measures."""
    p_corrected = holm(tested.p_value.ravel()).reshape(tested.p_value.shape)
    return tested.named(pair, tuple(GROUP_RISKS), groups, p_corrected)


def _contributions_along_lines(
    a: Bracket, b: Bracket
) -> list[tuple[FloatArray, FloatArray]]:
    """Return twice what each unit contributes to the risks of two models, [3,U,X+1] each.

    First r^b runs along each model's own direction, which is right where the leans are well known.
    Then along that of their mean, which is right where one model only seems to lean the other way:
    the distance between two sizes is at most that along any direction that both share.
    """
    shared = a.evidence.criterion.gradient(a.evidence.mean + b.evidence.mean)
    own_directions = a.contributions, b.contributions
    shared_direction = _along(shared, a), _along(shared, b)
    return [own_directions, shared_direction]


def _along(direction: FloatArray, risks: Bracket) -> FloatArray:
    """Return what units contribute to r, r^b and r^v [3,U,X+1], r^b along a direction [X,K]."""
    evidence = risks.evidence
    r = risks.contributions[0]
    r_bias = evidence.with_whole(np.einsum("uxk,xk->ux", evidence.s, direction))
    return np.stack([r, r_bias, r - r_bias])


def _paired(a: Bracket, b: Bracket, columns: slice, level: float) -> DifferenceArrays:
    """Return differences of two models in the same units, from what each unit contributes along
    several lines: the farthest ends and the largest p."""
    weights = a.weights[:, columns]
    value = snap(a.value - b.value)[:, columns]
    value = np.where(weights.any(axis=0), value, np.nan)
    slack = np.abs(a.half_width - b.half_width)[:, columns]
    tests: list[FlipTest] = []
    for of_a, of_b in _contributions_along_lines(a, b):
        contributions = np.moveaxis((of_a - of_b)[..., columns], 0, 1)  # [U,3,T]
        test = flip_test(
            value.ravel(),
            contributions.reshape(len(contributions), -1),
            np.tile(weights, 3),
            level=level,
            slack=slack.ravel(),
        )
        tests.append(test)
    return DifferenceArrays(
        value=value,
        low=np.min([test.low for test in tests], axis=0).reshape(value.shape),
        high=np.max([test.high for test in tests], axis=0).reshape(value.shape),
        p_value=np.max([test.p_value for test in tests], axis=0).reshape(value.shape),
    )


def _with_possible_opposites(
    tested: DifferenceArrays, a: Bracket, b: Bracket, level: float
) -> DifferenceArrays:
    """Return differences of groups with r^b left open where both models may lean equally far, in
    opposite directions.

    What moves both in one context moves one of them away from parity and the other towards it, and
    then cancels in the difference if one only seems to lean as the other does. Of two categories,
    leans of equal size are equal or opposite, so a difference has to rule out that their sum is 0,
    too; of more, this asks for more than is needed.
    """
    r_bias = 1
    weights = a.weights[:, :-1]
    sums = (a.contributions + b.contributions)[r_bias, :, :-1]
    total = (weights * sums).sum(axis=0)
    p_opposite = flip_test(total, sums, weights, level=level).p_value
    possible = p_opposite > 1 - level

    low = tested.low.copy()
    high = tested.high.copy()
    p_value = tested.p_value.copy()
    low[r_bias] = np.where(possible, np.minimum(low[r_bias], 0.0), low[r_bias])
    high[r_bias] = np.where(possible, np.maximum(high[r_bias], 0.0), high[r_bias])
    p_value[r_bias] = np.maximum(p_value[r_bias], p_opposite)
    return DifferenceArrays(tested.value, low, high, p_value)


def _paired_means(a: UnitMeans, b: UnitMeans, level: float) -> DifferenceArrays:
    """Return the difference of two models in a risk that is a mean over units."""
    differences = (a.values - b.values).T  # [U,1]
    weights = a.shares[:, None]
    value = snap(a.shares @ differences)
    test = flip_test(value, differences, weights, level=level)
    return DifferenceArrays(
        value[None], test.low[None], test.high[None], test.p_value[None]
    )
