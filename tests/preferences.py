"""Preferences made from numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clinometer.measure import Preferences
from clinometer.statistics.arrays import FloatArray


def pair(first: FloatArray) -> FloatArray:
    """[..., 2]: shares of the first of two categories, and of the second."""
    return np.stack([first, 1 - first], axis=-1)


def labelled(values: FloatArray, **given: Any) -> Preferences:
    """[X, C, Y] as preferences, with names of its own and even weights unless others are given."""
    X, C, K = values.shape
    usual = {
        "groups": tuple(f"g{x}" for x in range(X)),
        "contexts": tuple(f"c{c}" for c in range(C)),
        "categories": tuple("abcdefghijk"[:K]),
        "context_weights": np.ones(C),
        "group_weights": np.ones(X),
    }
    return Preferences(values=values, **{**usual, **given})
