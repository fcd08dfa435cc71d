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
"""Columns that a table must have; the first three name a row."""

OPTIONAL = ("context_weight", "group_weight", "reference")
"""Columns that a table may have."""

MOST_VALUES = 100_000_000
"""Values of a whole grid, 8 bytes each: a table of distinct labels has few rows and a huge grid."""

MOST_GROUPS = 20_000
"""Groups of a table: what is said of each pair of them grows with their square."""


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
    x, groups = frame["group"].astype(str).factorize()
    c, contexts = frame["context"].astype(str).factorize()
    y, categories = frame["attribute"].astype(str).factorize()
    if len(categories) < 2:
        raise TableError(
            f"{name}: expected two attributes or more, found only {categories[0]!r}; give every "
            "attribute a row with its p"
        )
    shape = (len(groups), len(contexts), len(categories))
    X, C, K = shape
    check_size(shape, name)
    place = np.ravel_multi_index((x, c, y), shape)
    table.check_distinct(place)
    values = np.full(shape, np.nan)
    values.reshape(-1)[place] = table.numbers("p")
    _check_whole_cells(values, name, tuple(groups), tuple(contexts), tuple(categories))

    context_weights = np.ones(C)
    if "context_weight" in frame.columns:
        by_cell = table.per_unit("context_weight", x * C + c, X * C, unit_name="cell")
        context_weights = _shared_where_equal(by_cell.reshape(X, C))
    group_weights = np.ones(X)
    if "group_weight" in frame.columns:
        group_weights = table.per_unit("group_weight", x, X, unit_name="group")
    reference = None
    if "reference" in frame.columns:
        by_row = table.per_unit("reference", place, X * C * K, unit_name="row")
        reference = _filled_reference(by_row.reshape(shape))
    context_labels = {}
    for label in labels:
        texts = table.per_unit(label, c, C, unit_name="context", texts=True)
        context_labels[label] = tuple(texts)
    return FrameArrays(
        values=values,
        groups=tuple(groups),
        contexts=tuple(contexts),
        categories=tuple(categories),
        context_weights=context_weights,
        group_weights=group_weights,
        reference=reference,
        labels=context_labels,
    )


def _check_whole_cells(
    values: FloatArray,
    name: str,
    groups: Sequence[str],
    contexts: Sequence[str],
    categories: Sequence[str],
) -> None:
    """Refuse cells of values [X,C,K] of which some categories are missing: part of a distribution
    is useless."""
    observed = ~np.isnan(values)
    partial = observed.any(axis=2) & ~observed.all(axis=2)
    if not partial.any():
        return
    i, j = (int(index[0]) for index in np.nonzero(partial))
    missing = np.flatnonzero(~observed[i, j])
    lacking = ", ".join(str(categories[int(k)]) for k in missing)
    raise TableError(
        f"{name}: group {groups[i]!r}, context {contexts[j]!r} has no p for {lacking}; give "
        "every category of a cell, or leave the whole cell out"
    )


def _shared_where_equal(by_cell: FloatArray) -> FloatArray:
    """Return weights [C] of the contexts where all groups have the same ones, else [X,C]; missing
    cells, which are NaN, have none."""
    low = np.nanmin(by_cell, axis=0)
    high = np.nanmax(by_cell, axis=0)
    if np.array_equal(low, high):
        return np.asarray(low)
    return np.nan_to_num(by_cell, nan=0.0)


def _filled_reference(expected: FloatArray) -> FloatArray:
    """Return p* [K] where all cells of [X,C,K] have the same one, else [X,C,K].

    Missing cells have no p* and no weight; any valid row may fill them, as it is never read.
    """
    rows = expected[~np.isnan(expected).any(axis=2)]
    if (rows == rows[0]).all():
        return np.asarray(rows[0])
    return np.where(np.isnan(expected), 1.0 / expected.shape[2], expected)


@dataclass(frozen=True, eq=False)
class _Table:
    """A frame, and what errors call it and its rows."""

    frame: DataFrame
    name: str
    row_name: Callable[[int], str]

    def check_columns(self, labels: Sequence[str]) -> None:
        """Refuse columns that are missing, unknown, there twice or not filled, and no rows."""
        columns = self.frame.columns
        repeated = [str(column) for column in columns[columns.duplicated()]]
        if repeated:
            raise TableError(
                f"{self.name}: the column {repeated[0]!r} occurs twice; keep one of the two"
            )
        required = (*REQUIRED, *labels)
        missing = [column for column in required if column not in columns]
        if missing:
            raise TableError(
                f"{self.name}: expected the columns {', '.join(required)}; found no "
                f"{', '.join(missing)} among {_listed(columns) or 'no columns at all'}"
            )
        if self.frame.empty:
            raise TableError(f"{self.name}: expected at least one row, found none")
        allowed = (*required, *OPTIONAL)
        unknown = [str(column) for column in columns if column not in allowed]
        if unknown:
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

    def check_distinct(self, place: NDArray[np.intp]) -> None:
        """Refuse two rows of the same place [n] in the grid."""
        _, first = np.unique(place, return_index=True)
        if first.size == place.size:
            return
        repeated = np.setdiff1d(np.arange(place.size), first)
        row = self.frame.iloc[int(repeated[0])]
        raise TableError(
            f"{self.name}: group {row['group']!r}, context {row['context']!r}, attribute "
            f"{row['attribute']!r} occurs twice; keep one of the rows"
        )

    def texts(self, column: str) -> NDArray[Any]:
        """Return a column as texts."""
        return np.asarray(self.frame[column].astype(str).to_numpy())

    def numbers(self, column: str) -> FloatArray:
        """Return the numbers of a column; NaN where it is empty."""
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
            has_comma = re.fullmatch(r"-?\d+,\d+", str(texts[row]))
            hint = "; write it with a point" if has_comma else ""
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
        unit_name: str,
        texts: bool = False,
    ) -> NDArray[Any]:
        """Return one number, or text, for each unit, from rows that must agree.

        Args:
            column: of the table.
            unit: [n], the number of the unit that each row is about.
            size: how many units there are.
            unit_name: what an error calls a unit.
            texts: whether the column holds text.
        """
        self._check_filled(column)
        by_row = self.texts(column) if texts else self.numbers(column)
        by_unit = np.full(size, np.nan, dtype=by_row.dtype)
        by_unit[unit] = by_row
        differs = by_unit[unit] != by_row
        if differs.any():
            row = self.frame.iloc[int(np.flatnonzero(differs)[0])]
            raise TableError(
                f"{self.name}: {column}: expected one value per {unit_name}, found two "
                f"(group {row['group']!r}, context {row['context']!r})"
            )
        return by_unit

    def _check_filled(self, column: str) -> None:
        """Refuse a column that is empty in some row."""
        empty = np.flatnonzero(self.frame[column].isna())
        if empty.size:
            row = self.row_name(int(empty[0]))
            raise TableError(
                f"{self.name}: {row} has no {column}; give one in every row"
            )


def _number(value: object) -> float:
    """Return the number that a cell of a table holds; NaN for anything else."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _listed(names: Iterable[object]) -> str:
    """Return names in one line: the name of a column may have several."""
    return " ".join(", ".join(map(str, names)).split())
