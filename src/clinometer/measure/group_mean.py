"""The reference of decisions: what all groups get in the same context.

With p*(c) = sum over x of w_x p(x, c) a stereotype says how a group is treated next to the others:
s = 0 in every cell if and only if every group is treated alike, in any answer.
docs/measure.md works out the scale.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from clinometer.measure.stereotype import REFERENCE_FLOOR
from clinometer.statistics.arrays import BoolArray, FloatArray, RealArray

GROUP_MEAN: Literal["group-mean"] = "group-mean"


def group_mean(
    values: RealArray,
    group_weights: FloatArray,
    mask: BoolArray | None = None,
    *,
    positive: bool = False,
) -> FloatArray:
    """p* [X,C,K]: the weighted mean over the groups that were observed in each context.

    A category that no group gives has no share to divide by; where a criterion divides, `positive`
    gives it the smallest share allowed, and since no group is above it, it adds nothing to a risk.
    A context without any observed group
    gets a uniform p*, which nothing is held against.

    >>> p = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])
    >>> group_mean(p, np.array([0.5, 0.5]))[:, 0].round(12).tolist()
    [[0.6, 0.4], [0.6, 0.4]]
    """
    X, C, K = values.shape
    w = np.repeat(np.asarray(group_weights, dtype=np.float64)[:, None], C, axis=1)
    p = np.asarray(values, dtype=np.float64)
    if mask is not None:
        w = np.where(mask, w, 0.0)
        p = np.where(mask[..., None], p, 0.0)
    total = w.sum(axis=0)
    mean = np.full((C, K), 1.0 / K)
    np.divide(np.einsum("xc,xck->ck", w, p), total[:, None], out=mean, where=total[:, None] > 0)
    if positive:
        mean = np.maximum(mean, 2 * REFERENCE_FLOOR)
        mean /= mean.sum(axis=1, keepdims=True)
    return np.broadcast_to(mean, (X, C, K)).copy()
