"""Will a ranking of models hold: halves of the contexts, and the generalisability coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.errors import SettingsError
from clinometer.measure.components import CellMoments, Deviations
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.rank import spearman


@dataclass(frozen=True)
class HalfSplit:
    """Mean rank correlation of two random halves of the contexts, over `halves` of them.

    corrected  models by how far groups differ without dice
    plain      models by the mean absolute difference of cells, which counts dice
    crossed    how well the plain ranking of one half predicts the corrected one of the other
    """

    corrected: float
    plain: float
    crossed: float
    halves: int


def contributions(cells: CellMoments) -> tuple[FloatArray, FloatArray]:
    """[C] what each context adds to the squares of groups without dice, and to the plain mean of
    absolute deviations."""
    d = Deviations.of(cells)
    square = (d.d**2).sum(axis=-1)
    weights = d.groups[:, None] * (cells.n > 0)
    total = np.maximum(weights.sum(axis=0), 1e-300)
    corrected = (weights * (square - d.noise)).sum(axis=0) / total
    return np.asarray(corrected), np.asarray((weights * np.sqrt(square)).sum(axis=0) / total)


def half_split(models: Sequence[CellMoments], *, halves: int = 100, seed: int = 0) -> HalfSplit:
    """Does the ranking of models in half of their contexts predict that in the other half?

    Fewer than three models or four contexts are an error.
    """
    if len(models) < 3 or len(models[0].weights) < 4:
        raise SettingsError(
            f"halves: expected three models and four contexts or more, found {len(models)} and "
            f"{len(models[0].weights) if models else 0}"
        )
    both = [contributions(cells) for cells in models]
    corrected, plain = (np.stack([pair[i] for pair in both]) for i in (0, 1))
    rng = np.random.default_rng(seed)
    C = corrected.shape[1]
    found = []
    for _ in range(halves):
        order = rng.permutation(C)
        one, two = order[: C // 2], order[C // 2 :]
        a, b = (corrected[:, half].mean(axis=1) for half in (one, two))
        p, q = (plain[:, half].mean(axis=1) for half in (one, two))
        found.append((_ranks(a, b), _ranks(p, q), (_ranks(p, b) + _ranks(q, a)) / 2))
    mean = np.mean(found, axis=0)
    return HalfSplit(float(mean[0]), float(mean[1]), float(mean[2]), halves)


def generalisability(models: Sequence[CellMoments]) -> float | None:
    """The share of the variance between models' means that other contexts would show again.

    (MS_model − MS_rest)/MS_model of models × contexts, of the squares without dice; 0 where models
    do not differ beyond chance, None with fewer than two models or contexts.

    >>> generalisability([]) is None
    True
    """
    if len(models) < 2 or len(models[0].weights) < 2:
        return None
    z = np.stack([contributions(cells)[0] for cells in models])
    M, C = z.shape
    of_models = C * z.mean(axis=1).var(ddof=1)
    rest = z - z.mean(axis=1, keepdims=True) - z.mean(axis=0) + z.mean()
    noise = (rest**2).sum() / ((M - 1) * (C - 1))
    return float(max(of_models - noise, 0.0) / of_models) if of_models > 0 else 0.0


def _ranks(a: FloatArray, b: FloatArray) -> float:
    """Spearman's correlation; 0 where one side has no order."""
    found = spearman(a, b, replicates=0)
    return 0.0 if found is None else found.rho.value
