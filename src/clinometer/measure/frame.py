"""A long table of preferences (group, context, attribute, p) as arrays.

The table is a pandas frame; only its own methods are used, so that pandas is not imported here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import TableError
from clinometer.statistics.arrays import FloatArray

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

REQUIRED = ("group", "context", "attribute", "p")
OPTIONAL = ("context_weight", "group_weight", "reference")
#: Values of a whole grid, 8 bytes each: a table of distinct labels has few rows and a huge grid.
MOST_VALUES = 100_000_000


#: Groups of a table: what is said of each pair of them grows with their square.
MOST_GROUPS = 20_000


def check_size(shape: tuple[int, int, int], name: str) -> None:
    """Refuse a table of others with more groups, or more combinations of group, context and
    attribute, than a measurement has."""
    if shape[0] > MOST_GROUPS or math.prod(shape) > MOST_VALUES:
        raise TableError(
            f"{name}: expected at most {MOST_GROUPS:,} groups and {MOST_VALUES:,} combinations of "
            f"group, context and attribute, found {shape[0]:,} × {shape[1]:,} × {shape[2]:,}; is "
            "a column full of ids?"
        )


@dataclass(frozen=True, eq=False)
class FrameArrays:
    """What a table says, under the names that `Preferences` has for it; NaN in missing cells."""

    values: FloatArray
    groups: tuple[str, ...]
    contexts: tuple[str, ...]
    categories: tuple[str, ...]
    context_weights: FloatArray
    group_weights: FloatArray
    reference: FloatArray | None
    labels: dict[str, tuple[str, ...]]


def read_frame(
    frame: DataFrame,
    *,
    labels: Sequence[str] = (),
    name: str = "table",
    row_name: Callable[[int], str] = lambda row: f"row {row + 1}",
) -> FrameArrays:
    """Read and check a table; a combination without a row is a missing cell.

    Args:
        frame: one row per group, context and attribute. `context_weight` may differ between
            groups, `reference` between groups and contexts; two values for one unit are an error
            that names the unit.
        labels: further columns with one label per context (predicate, source).
        name: what errors call the table.
        row_name: what errors call a row, counted from 0.
    """
    table = _Table(frame, name, row_name)
    table.check_columns(labels)
    codes = [frame[column].astype(str).factorize() for column in REQUIRED[:3]]
    (x, groups), (c, contexts), (y, categories) = codes
    if len(categories) < 2:
        raise TableError(
            f"{name}: expected two attributes or more, found only {categories[0]!r}; give every "
            "attribute a row with its p"
        )
    shape = (len(groups), len(contexts), len(categories))
    check_size(shape, name)
    X, C, K = shape
    flat = np.ravel_multi_index((x, c, y), shape)
    _, first = np.unique(flat, return_index=True)
    if first.size < flat.size:
        row = frame.iloc[int(np.setdiff1d(np.arange(flat.size), first)[0])]
        raise TableError(
            f"{name}: group {row['group']!r}, context {row['context']!r}, attribute "
            f"{row['attribute']!r} occurs twice; keep one of the rows"
        )
    values = np.full(shape, np.nan)
    values.reshape(-1)[flat] = table.numbers("p")
    observed = ~np.isnan(values)
    partial = observed.any(axis=2) & ~observed.all(axis=2)
    if partial.any():  # part of a distribution is useless
        i, j = (int(index[0]) for index in np.nonzero(partial))
        lacking = ", ".join(
            str(categories[int(k)]) for k in np.flatnonzero(~observed[i, j])
        )
        raise TableError(
            f"{name}: group {groups[i]!r}, context {contexts[j]!r} has no p for {lacking}; give "
            "every category of a cell, or leave the whole cell out"
        )
    context_weights, group_weights, reference = np.ones(C), np.ones(X), None
    if "context_weight" in frame.columns:
        cells = table.per_unit("context_weight", x * C + c, X * C, what="cell").reshape(
            X, C
        )
        low, high = np.nanmin(cells, axis=0), np.nanmax(cells, axis=0)
        context_weights = (
            low if np.array_equal(low, high) else np.nan_to_num(cells, nan=0.0)
        )
    if "group_weight" in frame.columns:
        group_weights = table.per_unit("group_weight", x, X, what="group")
    if "reference" in frame.columns:
        expected = table.per_unit("reference", flat, X * C * K, what="row").reshape(
            shape
        )
        rows = expected[~np.isnan(expected).any(axis=2)]
        # Missing cells have no p* and no weight; any valid row may fill them, as it is never read.
        filled = np.where(np.isnan(expected), 1.0 / K, expected)
        reference = np.asarray(rows[0] if (rows == rows[0]).all() else filled)
    return FrameArrays(
        values=values,
        groups=tuple(groups),
        contexts=tuple(contexts),
        categories=tuple(categories),
        context_weights=context_weights,
        group_weights=group_weights,
        reference=reference,
        labels={
            label: tuple(table.per_unit(label, c, C, what="context", texts=True))
            for label in labels
        },
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """A frame, and what errors call it and its rows."""

    frame: DataFrame
    name: str
    row_name: Callable[[int], str]

    def check_columns(self, labels: Sequence[str]) -> None:
        columns = self.frame.columns
        if twice := [str(c) for c in columns[columns.duplicated()]]:
            raise TableError(
                f"{self.name}: the column {twice[0]!r} occurs twice; keep one of the two"
            )
        if missing := [c for c in (*REQUIRED, *labels) if c not in columns]:
            raise TableError(
                f"{self.name}: expected the columns {', '.join((*REQUIRED, *labels))}; found no "
                f"{', '.join(missing)} among {_listed(columns) or 'no columns at all'}"
            )
        if self.frame.empty:
            raise TableError(f"{self.name}: expected at least one row, found none")
        if unknown := [
            str(c) for c in columns if c not in (*REQUIRED, *OPTIONAL, *labels)
        ]:
            raise TableError(
                f"{self.name}: unknown columns {_listed(unknown)}; expected "
                f"{', '.join(REQUIRED)} and, if wanted, {', '.join(OPTIONAL)} and the column of "
                "--clusters"
            )
        for column in (*REQUIRED[:3], *labels):
            if any(isinstance(value, bytes) for value in self.frame[column]):
                raise TableError(
                    f"{self.name}: {column}: expected text, found bytes; decode them"
                )
        for column in REQUIRED[:3]:
            self._check_filled(column)

    def numbers(self, column: str) -> FloatArray:
        """The numbers of a column; NaN where it is empty."""
        texts = self.frame[column].to_numpy(dtype=object)
        is_bool = [isinstance(value, bool | np.bool_) for value in texts]
        if any(is_bool):
            row = is_bool.index(True)
            raise TableError(
                f"{self.name}: {self.row_name(row)}: expected a number in {column}, found "
                f"{texts[row]}; write 1 or 0 if it is a probability"
            )
        try:
            numbers = np.asarray(texts, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array([_number(value) for value in texts])
        wrong = np.isnan(numbers) & ~self.frame[column].isna().to_numpy()
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            hint = (
                "; write it with a point"
                if re.fullmatch(r"-?\d+,\d+", str(texts[row]))
                else ""
            )
            raise TableError(
                f"{self.name}: {self.row_name(row)}: expected a number in {column}, found "
                f"{texts[row]!r}{hint}"
            )
        return numbers

    def per_unit(
        self,
        column: str,
        unit: NDArray[np.intp],
        size: int,
        *,
        what: str,
        texts: bool = False,
    ) -> NDArray[Any]:
        """One number, or text, for each unit, from rows that must agree."""
        self._check_filled(column)
        found = (
            self.frame[column].astype(str).to_numpy() if texts else self.numbers(column)
        )
        out = np.full(size, np.nan, dtype=found.dtype)
        out[unit] = found
        if (differs := out[unit] != found).any():
            row = self.frame.iloc[int(np.flatnonzero(differs)[0])]
            raise TableError(
                f"{self.name}: {column}: expected one value per {what}, found two "
                f"(group {row['group']!r}, context {row['context']!r})"
            )
        return out

    def _check_filled(self, column: str) -> None:
        empty = np.flatnonzero(self.frame[column].isna())
        if empty.size:
            row = self.row_name(int(empty[0]))
            raise TableError(
                f"{self.name}: {row} has no {column}; give one in every row"
            )


def _number(value: object) -> float:
    """The number a cell of a table holds; NaN for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _listed(names: Iterable[object]) -> str:
    """In one line: the name of a column may have several."""
    return " ".join(", ".join(map(str, names)).split())
