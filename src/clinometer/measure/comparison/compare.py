"""Do two models differ? Paired differences of the risks, with intervals, p-values and ranks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.measure.comparison.paired import Contrasts, paired_draws
from clinometer.measure.comparison.result import Comparison, Difference, Rank
from clinometer.measure.equations.criterion import checked_norm
from clinometer.measure.grid import PreferenceArguments, as_cells, read_preferences
from clinometer.ranges import LEVEL, SEED, SOME_REPLICATES
from clinometer.statistics.arrays import ROUNDING, BoolArray, FloatArray, as_labels, as_mask, plain
from clinometer.statistics.multiplicity import holm

OVERALL = ("R", "R_bias", "R_volatility")
BY_GROUP = ("r", "r_bias", "r_volatility")


def compare(
    *p: ArrayLike,
    names: Sequence[str] | None = None,
    norm: float = np.inf,
    normalize: bool = True,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
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
        norm, normalize, and context_weights, group_weights, reference, groups, categories
            (`given`): as in `decompose`.
        mask: [X,C] or [M,X,C], True = observed. A cell counts when all models have it.
        replicates: bootstrap replicates, at least 100; an odd number is raised by one.
        level: of the intervals.
        seed: of the multipliers; the same seed gives the same numbers.
        clusters: [C] labels of contexts that are resampled together (predicate, source).

    Returns:
        `Comparison`. p = 1 for the same answers twice. A difference that is the same in every
        context has no spread: its interval has width 0, or is None from fewer than 30 effective
        contexts, and its p is the least that C contexts allow, 2^(1 - C).

    Five contexts or fewer (at 95 %) cannot show a difference: low and high are None. A single
    context (or cluster) has neither interval nor p-value.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.beta(6, 4, (2, 5, 80))
    >>> result = compare(np.stack([a, 1 - a], -1), np.stack([b, 1 - b], -1), names=["A", "B"])
    >>> [(d.measure, d.p > 0.05) for d in result.overall]
    [('R', True), ('R_bias', True), ('R_volatility', True)]
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
    _check(replicates, level, seed)
    C = shape[1]
    given["mask"] = common_mask(given.get("mask"), models, (shape[0], C))
    grid = read_preferences(arrays[0], **given)
    units, n_clusters = _units(clusters, C)
    pairs = list(itertools.combinations(range(len(arrays)), 2))
    draws = paired_draws(
        [grid, *(grid.holding(array) for array in arrays[1:])],
        norm=checked_norm(norm),
        normalize=normalize,
        units=units,
        pairs=pairs,
        replicates=replicates,
        level=level,
        seed=seed,
    )
    labels = [(models[i], models[j]) for i, j in pairs]
    overall = _differences(draws.total, labels, OVERALL, (None,))
    by_group = _differences(draws.groups, labels, BY_GROUP, grid.groups)
    return Comparison(
        models=models,
        groups=grid.groups,
        overall=with_holm(overall),
        by_group=tuple(
            d for pair in labels for d in with_holm([d for d in by_group if (d.a, d.b) == pair])
        ),
        ranks=tuple(ranked(draws.overall, draws.corrected, draws.errors, models)),
        n_contexts=C,
        n_eff=draws.n_eff,
        n_clusters=n_clusters,
        missing_cells=grid.missing_cells,
        level=float(level),
        replicates=draws.errors.shape[0],
        seed=int(seed),
    )


def rank_probabilities(values: FloatArray) -> FloatArray:
    """Share of replicates [B,M] in which each model has each rank: [M,M] (model, rank).

    Rank 1 is the lowest. Values within 1e-12 tie, and share their ranks evenly. Rows and columns
    sum to one.

    >>> rank_probabilities(np.array([[0.1, 0.2], [0.3, 0.3]])).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    gap = values[:, :, None] - values[:, None, :]
    below = (gap > ROUNDING).sum(axis=2)
    alike = (np.abs(gap) <= ROUNDING).sum(axis=2)
    places = np.arange(values.shape[1])
    held = (places >= below[..., None]) & (places < (below + alike)[..., None])
    return np.asarray((held / alike[..., None]).mean(axis=0))


def _check(replicates: int, level: float, seed: int) -> None:
    SOME_REPLICATES.check("replicates", replicates)
    LEVEL.check("level", level)
    SEED.check("seed", seed)


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
            p_holm=None,
        )
        for q, (a, b) in enumerate(pairs)
        for m, measure in enumerate(measures)
        for x, group in enumerate(groups)
    ]


def with_holm(differences: list[Difference]) -> tuple[Difference, ...]:
    """The same with p_holm over all of them."""
    family = holm([np.nan if d.p is None else d.p for d in differences])
    return tuple(replace(d, p_holm=plain(p)) for d, p in zip(differences, family, strict=True))


def ranked(
    values: FloatArray, corrected: FloatArray, errors: FloatArray, models: tuple[str, ...]
) -> list[Rank]:
    """Ranks by the plug-in values [M,3], with their probabilities from the errors [B,M,3]."""
    ranks = []
    for m, measure in enumerate(OVERALL):
        probability = rank_probabilities(corrected[:, m] - errors[:, :, m])
        for i, model in enumerate(models):
            rank = 1 + int((values[:, m] < values[i, m] - ROUNDING).sum())
            shares = tuple(float(v) for v in probability[i])
            ranks.append(Rank(model, measure, float(values[i, m]), rank, shares))
    return ranks
