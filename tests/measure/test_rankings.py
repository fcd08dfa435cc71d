"""Halves of the contexts: models that differ are ranked alike, models that throw dice are not."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure.components import CellMoments
from clinometer.measure.rankings import generalisability, half_split


def models(swing: list[float], dice: list[float]) -> list[CellMoments]:
    rng = np.random.default_rng(0)
    found = []
    for s, d in zip(swing, dice, strict=True):
        y = s * rng.normal(size=(6, 40, 1)) + d * rng.normal(size=(6, 40, 4))
        even = np.full(40, 1 / 40), np.full(6, 1 / 6)
        n = np.full((6, 40), 4.0)
        mean, within = y.mean(axis=2)[..., None], y.var(axis=2, ddof=1)
        found.append(CellMoments(mean, within, n, *even, None, np.arange(40)))
    return found


def test_models_that_differ_are_ranked_alike() -> None:
    found = half_split(models([0.2, 0.5, 0.8, 1.1], [0.5] * 4))
    assert found.corrected > 0.9
    assert (generalisability(models([0.2, 0.5, 0.8, 1.1], [0.5] * 4)) or 0) > 0.9


def test_dice_alone_rank_models_plainly_but_not_once_corrected() -> None:
    """Models that differ in their dice and in nothing else: the plain ranking holds, and means
    nothing."""
    same = models([0.0] * 6, [0.2, 0.5, 0.8, 1.1, 1.4, 1.7])
    found = half_split(same)
    assert found.plain > 0.9
    assert abs(found.corrected) < 0.6


def test_too_few_models_or_contexts_are_refused() -> None:
    with pytest.raises(SettingsError, match="three models"):
        half_split(models([1.0], [1.0]))
