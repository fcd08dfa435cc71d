"""Scores of several runs on one scale, whoever got the lowest and the highest points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.measure import Preferences
from clinometer.measure.criterion import Criterion
from clinometer.statistics.arrays import FloatArray


def on_one_scale(preferences: Sequence[Preferences]) -> list[Preferences]:
    """Return scores on the union of their scales, and other preferences as they are.

    A run in which nobody got a 1 or a 10 is on the same scale as one in which somebody did.
    """
    scales = [_scale(p) for p in preferences]
    union = tuple(sorted(set().union(*scales)))
    if not all(scales) or all(scale == union for scale in scales):
        return list(preferences)
    names: dict[float, str] = {}
    for p, scale in zip(preferences, scales, strict=True):
        names |= dict(zip(scale, p.categories, strict=True))
    categories = tuple(names[point] for point in union)
    return [
        p if scale == union else _with_scale(p, scale, union, categories)
        for p, scale in zip(preferences, scales, strict=True)
    ]


def _scale(p: Preferences) -> tuple[float, ...]:
    """Return the points of the scale; () for preferences that are no scores."""
    return p.criterion.points if isinstance(p.criterion, Criterion) else ()


def _with_scale(
    p: Preferences,
    scale: Sequence[float],
    union: tuple[float, ...],
    categories: tuple[str, ...],
) -> Preferences:
    """Return scores with the points of `union` that nobody got, each with no answer."""
    columns = [union.index(point) for point in scale]

    def widened(values: FloatArray) -> FloatArray:
        wider = np.zeros((*values.shape[:-1], len(union)))
        wider[..., columns] = values
        missing = np.isnan(values).any(axis=-1, keepdims=True)
        return np.where(missing, np.nan, wider)

    reference = p.reference
    if isinstance(reference, np.ndarray):
        reference = widened(reference)
    return replace(
        p,
        values=widened(p.values),
        categories=categories,
        reference=reference,
        criterion=Criterion("points", points=union),
        low=None,
        high=None,
    )
