"""An independent, slow implementation of the equations: plain Python loops written from the paper,
sharing no code with the package."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clinometer.statistics.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class SlowRisks:
    r: list[float]
    r_bias: list[float]
    r_volatility: list[float]
    mean_stereotype: list[list[float]]
    R: float
    R_bias: float
    R_volatility: float


def reference_of(reference: FloatArray | None, x: int, c: int, K: int) -> list[float]:
    if reference is None:
        return [1.0 / K] * K
    if reference.ndim == 1:
        return [float(v) for v in reference]
    if reference.ndim == 2:
        return [float(v) for v in reference[x]]
    return [float(v) for v in reference[x][c]]


def criterion_of(s: list[float], norm: float, name: str) -> float:
    """The paper's J_k; half the absolute differences; or the area between two distribution
    functions over the points 1, 2, .., as a share of their range."""
    if name == "share":
        return math.fsum(abs(v) for v in s) / 2
    if name == "points":
        below = [math.fsum(s[: y + 1]) for y in range(len(s) - 1)]
        return math.fsum(abs(v) for v in below) / (len(s) - 1)
    positive = [max(v, 0.0) for v in s]
    if math.isinf(norm):
        return max(positive)
    return float(math.fsum(v**norm for v in positive) ** (1.0 / norm))


def decompose(
    p: FloatArray,
    *,
    context_weights: FloatArray | None = None,
    group_weights: FloatArray | None = None,
    reference: FloatArray | None = None,
    criterion: str = "ratio",
    mask: BoolArray | None = None,
) -> SlowRisks:
    """Equations 1 to 7, cell by cell: r, r_bias, r_volatility [X] and R, R_bias, R_volatility."""
    X, C, K = p.shape
    criterion, _, k = criterion.partition(":")
    norm = float(k or math.inf)
    r, rb, rv, means = [], [], [], []
    for x in range(X):
        weight, cells = [], []
        for c in range(C):
            if mask is not None and not mask[x][c]:
                continue
            if context_weights is None:
                w = 1.0
            elif context_weights.ndim == 1:
                w = float(context_weights[c])
            else:
                w = float(context_weights[x][c])
            star = reference_of(reference, x, c, K)
            s = [float(p[x][c][y]) / star[y] - 1 for y in range(K)]
            if criterion in ("share", "points"):
                s = [float(p[x][c][y]) - star[y] for y in range(K)]
            elif criterion == "ratio":
                worst = max(1 / v - 1 for v in star)
                s = [v / worst for v in s]
            weight.append(w)
            cells.append(s)
        total = math.fsum(weight)
        if total == 0:
            r.append(math.nan)
            rb.append(math.nan)
            rv.append(math.nan)
            means.append([math.nan] * K)
            continue
        risk = math.fsum(
            w * criterion_of(s, norm, criterion)
            for w, s in zip(weight, cells, strict=True)
        )
        mean = [
            math.fsum(w * s[y] for w, s in zip(weight, cells, strict=True)) / total
            for y in range(K)
        ]
        r.append(risk / total)
        rb.append(criterion_of(mean, norm, criterion))
        rv.append(r[-1] - rb[-1])
        means.append(mean)
    seen = [x for x in range(X) if not math.isnan(r[x])]
    gw = [1.0 if group_weights is None else float(group_weights[x]) for x in seen]

    def overall(values: list[float]) -> float:
        return math.fsum(
            w * values[x] for w, x in zip(gw, seen, strict=True)
        ) / math.fsum(gw)

    return SlowRisks(
        r=r,
        r_bias=rb,
        r_volatility=rv,
        mean_stereotype=means,
        R=overall(r),
        R_bias=overall(rb),
        R_volatility=overall(rv),
    )
