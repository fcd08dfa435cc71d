"""What a measurement returns: numbers with their intervals, as frozen types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.display.notebook import frame, risk_html
from clinometer.display.numbers import counted
from clinometer.measure.criterion import Criterion
from clinometer.statistics.arrays import ROUNDING, FloatArray, plain, read_only
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame


@dataclass(frozen=True, eq=False)
class GroupIntervals:
    """Intervals of the risks of each group, [X,2] (low, high); NaN rows for missing groups."""

    r: FloatArray
    r_bias: FloatArray
    r_volatility: FloatArray
    level: float
    method: str

    def __post_init__(self) -> None:
        """Make the arrays unwritable."""
        for array in (self.r, self.r_bias, self.r_volatility):
            read_only(array)


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
        for array in (self.r, self.r_bias, self.r_volatility, self.mean_stereotype):
            read_only(array)
        read_only(self.group_weights)
        read_only(self.n_eff_by_group)

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
        return tuple(self._favoured(row) for row in self.mean_stereotype)

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
            row: dict[str, Any] = {"group": group, "weight": float(self.group_weights[x])}
            for name in ("r", "r_bias", "r_volatility"):
                bounds = None if self.intervals is None else getattr(self.intervals, name)[x]
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
            "mean_stereotype": [[plain(v) for v in row] for row in self.mean_stereotype],
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
        whole = self.to_dict()
        note = f"{self.n_contexts:,} contexts, {self.n_eff:,.1f} effective"
        if self.missing_cells:
            note += f", {self.missing_cells:,} cells missing"
        return risk_html(title, whole["summary"], whole["groups"], note)

    def _favoured(self, row: FloatArray) -> str | None:
        if np.isnan(row).any():
            return None
        top = float(row.max())
        near = np.flatnonzero(row >= top - ROUNDING * max(1.0, abs(top)))
        return self.categories[int(near[0])] if near.size == 1 else None
