"""Preferences made from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
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


def write_shares(path: Path, *groups: Sequence[float]) -> Path:
    """A table of groups a, b, … in contexts c0, c1, …: the shares of x, and the rest of y."""
    lines = ["group,context,attribute,p"]
    for x, shares in enumerate(groups):
        for c, p in enumerate(shares):
            lines += [f"{'abc'[x]},c{c},x,{p}", f"{'abc'[x]},c{c},y,{1 - p}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
