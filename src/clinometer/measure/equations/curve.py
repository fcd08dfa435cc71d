"""The risk-aversion curve: risks as the criterion looks more and more at the worst category."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.equations.criterion import checked_norm, criterion
from clinometer.measure.equations.risk import stereotype_block
from clinometer.measure.equations.stereotype import resolve_reference
from clinometer.measure.grid import preference_block, read_grid, read_preferences, weighted_mean
from clinometer.statistics.arrays import ROUNDING, FloatArray, blocks, read_only, snap

NORMS = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, math.inf)


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Risks for each norm k. Arrays are read-only.

    Attributes:
        norms: k, as given.
        groups: labels, X of them.
        r, r_bias, r_volatility: [N,X]; NaN for missing groups.
        R, R_bias, R_volatility: [N].
    """

    norms: tuple[float, ...]
    groups: tuple[str, ...]
    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    R: FloatArray
    R_bias: FloatArray
    R_volatility: FloatArray

    def table(self) -> list[dict[str, Any]]:
        """One plain row a norm: norm ("inf" for the maximum), R, R_bias, R_volatility."""
        return [
            {
                "norm": "inf" if math.isinf(k) else k,
                "R": float(self.R[i]),
                "R_bias": float(self.R_bias[i]),
                "R_volatility": float(self.R_volatility[i]),
            }
            for i, k in enumerate(self.norms)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The curve and the groups' risks as plain values for JSON; None for missing groups."""
        rows = self.table()
        for i, row in enumerate(rows):
            row["groups"] = [
                {
                    "group": group,
                    "r": _plain(self.r[i, x]),
                    "r_bias": _plain(self.r_bias[i, x]),
                    "r_volatility": _plain(self.r_volatility[i, x]),
                }
                for x, group in enumerate(self.groups)
            ]
        return {"curve": rows}


def risk_curve(
    p: ArrayLike,
    norms: Sequence[float] = NORMS,
    *,
    context_weights: ArrayLike | None = None,
    group_weights: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    normalize: bool = True,
    mask: ArrayLike | None = None,
    groups: Sequence[str] | None = None,
) -> RiskCurve:
    """R, R^b and R^v as functions of k (Eq. 10), in one pass over the preferences.

    k = 1 adds up the positive stereotypes of all categories; k = inf takes the worst alone. R
    and R^b do not grow with k; R^v may rise or fall. With two categories only one can be
    positive, so the curve is flat: what differs with k is how several favoured categories count.

    Arguments as for `decompose`, which gives the same numbers norm by norm. No norm at all, and
    a norm below 1, are errors.

    >>> curve = risk_curve([[0.4, 0.4, 0.2], [0.6, 0.2, 0.2]], [1, np.inf])
    >>> curve.R.round(12).tolist(), curve.R_volatility.round(12).tolist()
    ([0.3, 0.25], [0.05, 0.0])
    """
    ks = tuple(checked_norm(norm) for norm in norms)
    if not ks:
        raise SettingsError("norms: expected at least one norm, found none")
    array = read_preferences(p)
    X, C, K = array.shape
    grid = read_grid(
        (X, C),
        groups=groups,
        context_weights=context_weights,
        group_weights=group_weights,
        mask=mask,
    )
    expected = resolve_reference(reference, (X, C, K), mask=mask)
    total, risk, mean, largest = np.zeros(X), np.zeros((len(ks), X)), np.zeros((X, K)), 1.0
    for rows, columns in blocks((X, C), depth=K):
        block = preference_block(array, grid, rows=rows, columns=columns)
        s, top = stereotype_block(
            block, expected, grid=grid, rows=rows, columns=columns, normalize=normalize
        )
        largest = max(largest, top)
        w = grid.cell_weights(rows, columns)
        total[rows] += w.sum(axis=1)
        for i, k in enumerate(ks):
            risk[i, rows] += (w * criterion(s, k)).sum(axis=1)
        for y in range(K):
            mean[rows, y] += (w * s[..., y]).sum(axis=1)
    observed = total > 0
    weights = grid.observed_weights(observed)
    divisor = np.where(observed, total, np.nan)
    tolerance = ROUNDING if normalize else ROUNDING * largest
    mean /= divisor[:, None]
    r = snap(risk / divisor, tolerance)
    r_bias = snap(np.stack([criterion(mean, k) for k in ks]), tolerance)
    r_volatility = snap(r - r_bias, tolerance)
    overall = [
        read_only(np.array([weighted_mean(row, weights) for row in part]))
        for part in (r, r_bias, r_volatility)
    ]
    by_group = [read_only(part) for part in (r, r_bias, r_volatility)]
    return RiskCurve(ks, grid.groups, *by_group, *overall)


def _plain(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
