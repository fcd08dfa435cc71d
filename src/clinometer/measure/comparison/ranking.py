"""Ranks of many models at once, without a test of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.comparison.compare import common_mask, ranked
from clinometer.measure.comparison.paired import paired_draws
from clinometer.measure.comparison.result import Rank
from clinometer.measure.equations.criterion import checked_norm
from clinometer.measure.grid import PreferenceArguments, as_cells, read_preferences
from clinometer.ranges import SEED, SOME_REPLICATES
from clinometer.statistics.arrays import ROUNDING, FloatArray, as_labels


@dataclass(frozen=True, eq=False)
class Ranking:
    """What `rank_models` returns.

    Attributes:
        models: their names.
        ranks: of each model in each measure, as in `compare`.
        lower: [3,M,M], how often in the bootstrap model i has the lower R, R^b, R^v than model j;
            a tie counts half, so `lower` and its transpose add up to one.
        n_contexts, n_eff: contexts, and how many even ones they are worth.
        missing_cells: cells left out because some model was not observed there.
        replicates: as used.
    """

    models: tuple[str, ...]
    ranks: tuple[Rank, ...]
    lower: FloatArray
    n_contexts: int
    n_eff: float
    missing_cells: int
    replicates: int


def rank_models(
    *p: ArrayLike,
    names: Sequence[str] | None = None,
    norm: float = np.inf,
    normalize: bool = True,
    replicates: int = 400,
    seed: int = 0,
    **given: Unpack[PreferenceArguments],
) -> Ranking:
    """Ranks of models asked about the same groups in the same contexts, with their probabilities.

    The ranks are those of `compare`, by the same paired bootstrap over contexts; the tests of
    the pairs, which grow with the square of the models, are left out.

    Args:
        p: [X,C,Y] of each model; a single one has rank 1.
        names, norm, normalize, mask and others: as in `compare`.
        replicates: at least 100. A probability has a standard error of at most
            0.5 / sqrt(replicates).

    >>> rng = np.random.default_rng(0)
    >>> lean, less = rng.beta(8, 2, (5, 80)), rng.beta(6, 4, (5, 80))
    >>> found = rank_models(*(np.stack([a, 1 - a], -1) for a in (lean, less)), names=["A", "B"])
    >>> [(r.model, r.rank, r.probability) for r in found.ranks if r.measure == "R"]
    [('A', 2, (0.0, 1.0)), ('B', 1, (1.0, 0.0))]
    """
    arrays = [as_cells(one) for one in p]
    if not arrays or any(array.shape != arrays[0].shape for array in arrays):
        raise SettingsError(
            f"rank_models: expected models over the same groups, contexts and categories, found "
            f"{', '.join(str(array.shape) for array in arrays) or 'none'}"
        )
    models = as_labels(names, len(arrays), name="names")
    SOME_REPLICATES.check("replicates", replicates)
    SEED.check("seed", seed)
    X, C = arrays[0].shape[:2]
    given["mask"] = common_mask(given.get("mask"), models, (X, C))
    grid = read_preferences(arrays[0], **given)
    draws = paired_draws(
        [grid, *(grid.holding(array) for array in arrays[1:])],
        norm=checked_norm(norm),
        normalize=normalize,
        units=np.arange(C, dtype=np.intp),
        pairs=[],
        replicates=replicates,
        level=0.95,  # of the pairs, of which there are none
        seed=seed,
    )
    drawn = draws.corrected - draws.errors
    gap = drawn[:, :, None] - drawn[:, None]
    lower = (gap < -ROUNDING).mean(axis=0) + 0.5 * (np.abs(gap) <= ROUNDING).mean(axis=0)
    return Ranking(
        models=models,
        ranks=tuple(ranked(draws.overall, draws.corrected, draws.errors, models)),
        lower=np.moveaxis(lower, -1, 0),
        n_contexts=C,
        n_eff=draws.n_eff,
        missing_cells=grid.missing_cells,
        replicates=drawn.shape[0],
    )
