"""Discrimination risk and its components, bias and volatility (Eq. 3 to 7), for any norm; beside
them the metrics that A.2 finds wanting, system bias and deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from clinometer.display.notebook import frame, titled_html
from clinometer.display.numbers import MISSING, SYMBOLS, TITLES, between, counted, show
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import (
    PreferenceArguments,
    PreferenceGrid,
    read_preferences,
)
from clinometer.statistics.arrays import (
    ROUNDING,
    FloatArray,
    blocks,
    effective_size,
    plain,
    read_only,
    snap,
    weighted_mean,
)
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame


def decompose(
    p: ArrayLike | DataFrame,
    **given: Unpack[PreferenceArguments],
) -> RiskReport:
    """Split the discrimination risk of preferences into bias risk and volatility risk.

    r_x   = sum over c of w_c J(s(x,c))       discrimination risk (Eq. 3)
    r_x^b = J(sum over c of w_c s(x,c))       bias risk (Eq. 5)
    r_x^v = r_x - r_x^b                       volatility risk (Eq. 6), at least 0: J is convex
    R, R^b, R^v = means over x with w_x       (Eq. 4, 7)

    Args:
        p: [X,C,Y] preferences; [C,Y] for one group; or a pandas frame with the columns group,
            context, attribute and p. Each cell sums to one within 1e-6 (it is used as it is, not
            rescaled).
        criterion: how a departure from p* counts as risk: "ratio" (the paper's; "ratio:2" with
            that k of J_k, "raw" without division by `scale(p*)`, "raw:2"), "share" (of the answers
            that would have to change) or "points" (of a rating scale, whose numbers are the
            categories); None takes the one that fits. R is on its scale. See `Criterion`.
        context_weights: [C] shared by the groups, or [X,C]; any scale; None is equal.
        group_weights: [X]; any scale; None is equal.
        reference: p*: None (uniform), [Y], [X,Y] or [X,C,Y]; see `resolve_reference`.
        mask: [X,C], True = observed; None when all are.
        groups, categories: distinct labels; None numbers them.

    Returns:
        `RiskReport`. R = 0: always the reference. R = R^b = 1: the same extreme answer in every
        context. R = R^v = 1: extreme answers that cancel out over the contexts.

    Missing cells: the weights of a group are renormalised over its observed cells; a group
    without any is listed in `missing_groups`, its risks are NaN in the arrays, and R is the mean
    over the others. The values of p in a missing cell are ignored.

    Degenerate input: one context gives r^v = 0; a weight of 0 excludes its context or group.
    Values below 1e-12 (times the scale, for raw risks), smaller than the rounding of the sums,
    are reported as 0. NaN, infinity, negative p, cells that do not sum to one, no group, no
    context, one category, and no observed weight at all are errors.

    >>> report = decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
    >>> [round(e.value, 12) for e in (report.R, report.R_bias, report.R_volatility)]
    [0.2, 0.0, 0.2]
    """
    return decompose_grid(read_preferences(p, **given))


def decompose_grid(grid: PreferenceGrid) -> RiskReport:
    """`decompose` of preferences that have been read, in one pass over them, in blocks."""
    criterion, X, K = grid.criterion, grid.shape[0], len(grid.categories)
    total, square, risk, mean = np.zeros(X), np.zeros(X), np.zeros(X), np.zeros((X, K))
    for rows, columns in blocks(grid.shape, depth=K):
        s = grid.stereotypes(rows, columns)
        w = grid.cell_weights(rows, columns)
        total[rows] += w.sum(axis=1)
        square[rows] += (w * w).sum(axis=1)
        risk[rows] += (w * criterion(s)).sum(axis=1)
        for y in range(K):
            mean[rows, y] += (w * s[..., y]).sum(axis=1)
    observed = total > 0
    weights = grid.observed_weights(observed)
    divisor = np.where(observed, total, np.nan)
    mean /= divisor[:, None]
    r = snap(risk / divisor, grid.tolerance)
    r_bias = snap(criterion(mean), grid.tolerance)
    r_volatility = snap(r - r_bias, grid.tolerance)
    R, R_bias, R_volatility = (
        Estimate(weighted_mean(part, weights)) for part in (r, r_bias, r_volatility)
    )
    n_eff_by_group = np.full(X, np.nan)
    np.divide(total * total, square, out=n_eff_by_group, where=observed)
    if len(grid.context_weights) == 1 and not grid.missing_cells:
        n_eff = effective_size(grid.context_weights[0])
    else:
        n_eff = weighted_mean(n_eff_by_group, weights)
    return RiskReport(
        groups=grid.groups,
        categories=grid.categories,
        r=r,
        r_bias=r_bias,
        r_volatility=r_volatility,
        mean_stereotype=mean,
        group_weights=grid.group_weights,
        R=R,
        R_bias=R_bias,
        R_volatility=R_volatility,
        n_contexts=grid.contexts_asked,
        n_eff=n_eff,
        n_eff_by_group=n_eff_by_group,
        missing_cells=grid.missing_cells,
        missing_groups=grid.missing(total),
        criterion=criterion,
    )


def system_bias(grid: PreferenceGrid) -> FloatArray:
    """[X,Y], mean of p over contexts less the reference (A.2): 0 for a model that is fair on
    average, however far it swings. For two categories and an even reference it is ± r^b / 2.

    >>> M1, M2 = [[0.6, 0.4]] * 3, [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]
    >>> [round(abs(float(system_bias(read_preferences(m))[0, 0])), 12) for m in (M1, M2)]
    [0.1, 0.0]
    """
    return grid.mean(grid.values - grid.reference)


def deviation(grid: PreferenceGrid) -> FloatArray:
    """[X,Y], mean over contexts of the distance from the reference, as a share of it (A.2). For two
    categories and an even reference it is r: it does not tell a lean from a swing.

    >>> M1, M2 = [[0.6, 0.4]] * 3, [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]
    >>> [round(float(deviation(read_preferences(m))[0, 0]), 12) for m in (M1, M2)]
    [0.2, 0.2]
    """
    return grid.mean(np.abs(grid.values - grid.reference) / grid.reference)


# --- What a measurement returns ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupIntervals:
    """Intervals of the risks of each group, [X,2] (low, high); NaN rows for missing groups."""

    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    level: float


@dataclass(frozen=True, eq=False, repr=False)
class RiskReport:
    """Risks per group and overall, as `decompose` gives them. Arrays are read-only.

    Attributes:
        groups, categories: labels, X and Y of them.
        r, r_bias, r_volatility: [X], Eq. 3, 5, 6; NaN for missing groups.
        mean_stereotype: [X,Y], mean of s over contexts on the scale of the risks: r_bias is J
            of it.
        group_weights: [X], sum to one over all groups; R renormalises over the observed ones.
        R, R_bias, R_volatility: Eq. 4 and 7.
        n_contexts: contexts with an observed cell.
        n_eff: effective number of contexts; n_eff_by_group: [X], over observed cells.
        missing_cells: cells that the mask excludes.
        missing_groups: groups without any observed weight; they have no risk.
        criterion: what R is a measure of, and on what scale.
        intervals: of the groups' risks, once they have been computed.
        R_shared, R_between: the risk that all groups share, and the risk that differs between
            them (see `group_split`); None for a single group.
    """

    groups: tuple[str, ...]
    categories: tuple[str, ...]
    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    mean_stereotype: FloatArray
    group_weights: FloatArray
    R: Estimate
    R_bias: Estimate
    R_volatility: Estimate
    n_contexts: int
    n_eff: float
    n_eff_by_group: FloatArray
    missing_cells: int
    missing_groups: tuple[str, ...]
    criterion: Criterion
    intervals: GroupIntervals | None = None
    R_shared: Estimate | None = None
    R_between: Estimate | None = None

    def __post_init__(self) -> None:
        """Make the arrays unwritable."""
        for part in filter(None, (self, self.intervals)):
            for value in vars(part).values():
                if isinstance(value, np.ndarray):
                    read_only(value)

    def __repr__(self) -> str:
        size = f"{counted(len(self.groups), 'group')}, {counted(self.n_contexts, 'context')}"
        return f"RiskReport({self.shown}; {size})"

    @property
    def shown(self) -> str:
        """The three numbers with their intervals, in one line."""
        return f"R {self.R!r}, bias {self.R_bias!r}, volatility {self.R_volatility!r}"

    @property
    def leaning(self) -> tuple[str | None, ...]:
        """The favoured category of each group: the largest mean stereotype.

        None for a missing group, and for a tie within 1e-12 (times the size of the largest).
        """
        top = self.mean_stereotype.max(axis=1, keepdims=True)
        near = self.mean_stereotype >= top - ROUNDING * np.maximum(1.0, np.abs(top))
        return tuple(
            self.categories[int(row.argmax())] if row.sum() == 1 else None
            for row in near
        )

    @property
    def summary(self) -> dict[str, Estimate]:
        """R, R_bias, R_volatility and, where they are known, R_shared and R_between."""
        names = ("R", "R_bias", "R_volatility", "R_shared", "R_between")
        return {name: one for name in names if (one := getattr(self, name)) is not None}

    def groups_table(self) -> list[dict[str, Any]]:
        """One plain row per group, as in groups.parquet; None where there is no number."""
        leaning = self.leaning
        rows = []
        for x, group in enumerate(self.groups):
            row: dict[str, Any] = {
                "group": group,
                "weight": float(self.group_weights[x]),
            }
            for name in ("r", "r_bias", "r_volatility"):
                bounds = (
                    None if self.intervals is None else getattr(self.intervals, name)[x]
                )
                row[name] = plain(getattr(self, name)[x])
                row[f"{name}_low"] = None if bounds is None else plain(bounds[0])
                row[f"{name}_high"] = None if bounds is None else plain(bounds[1])
            rows.append({**row, "leaning": leaning[x]})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON: no NaN, no infinity (k = inf is "inf")."""
        return {
            "summary": {name: one.to_dict() for name, one in self.summary.items()},
            "groups": self.groups_table(),
            "categories": list(self.categories),
            "mean_stereotype": [
                [plain(v) for v in row] for row in self.mean_stereotype
            ],
            "n_contexts": self.n_contexts,
            "n_eff": self.n_eff,
            "n_eff_by_group": [plain(v) for v in self.n_eff_by_group],
            "missing_cells": self.missing_cells,
            "missing_groups": list(self.missing_groups),
            **self.criterion.to_dict(),
        }

    def to_pandas(self) -> DataFrame:
        """One row per group, as in groups.parquet."""
        return frame(self.groups_table())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.to_html("Risks")

    def to_html(self, title: str) -> str:
        """The numbers and the groups with the highest risk under a title; all of it escaped."""
        each = zip(
            TITLES.values(), (self.R, self.R_bias, self.R_volatility), strict=True
        )
        top = [
            [
                name,
                show(e.value, "risk"),
                between(e.low, e.high, to=" to ", missing=MISSING),
            ]
            for name, e in each
        ]
        measures = ("r", "r_bias", "r_volatility")
        seen = [row for row in self.groups_table() if row["r"] is not None]
        rows = [
            [
                row["group"],
                *(show(row[m], "risk") for m in measures),
                show(row["leaning"], "text"),
            ]
            for row in sorted(seen, key=lambda row: -row["r"])
        ]
        note = f"{self.n_contexts:,} contexts, {self.n_eff:,.1f} effective"
        if self.missing_cells:
            note += f", {self.missing_cells:,} cells missing"
        headings = ["group", *(SYMBOLS[m] for m in measures), "leans to"]
        return titled_html(title, ["risk", "value", "interval"], top) + titled_html(
            "The highest risks", headings, rows, note
        )
