"""Judgements of several annotators about the same items; some may be missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import TableError
from clinometer.reliability.benchmarks import Row, need_columns, read_rows

#: Answers that count as missing.
NO_ANSWER = frozenset({"", "skip", "na", "nan", "none", "null"})
#: With more distinct values than this, a column contains measurements, not categories.
MOST_CATEGORIES = 50
MISSING = -1


@dataclass(frozen=True, eq=False)
class Ratings:
    """codes [n items, m annotators] are indices into `categories`; -1 for no judgement.

    numeric     whether every category is a number; categories are then sorted by value
    texts       the sentence of each item by id, if the table has one
    rows        the other columns of each item by id
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    categories: tuple[str, ...]
    codes: NDArray[np.int64]
    numeric: bool
    texts: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, Row] = field(default_factory=dict)

    @property
    def counts(self) -> NDArray[np.int64]:
        """[n, K]: number of judgements per item and category."""
        return np.stack([(self.codes == k).sum(axis=1) for k in range(len(self.categories))], 1)

    @property
    def values(self) -> NDArray[np.float64]:
        """[K] the value of each category: its number, or its index."""
        if self.numeric:
            return np.array([float(c) for c in self.categories])
        return np.arange(len(self.categories), dtype=float)

    def means(self) -> NDArray[np.float64]:
        """[n] mean judgement of each item; NaN for an item without any. Numeric categories only."""
        self.need_numbers("mean judgements")
        counts = self.counts
        total = counts.sum(axis=1)
        return np.where(total > 0, counts @ self.values / np.maximum(total, 1), np.nan)

    def most_frequent(self) -> dict[str, str]:
        """The most frequent category of each item, by id; items without a single one are left out.

        >>> said = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no"}}
        >>> Ratings.of(said).most_frequent()
        {'a': 'yes'}
        """
        found = {}
        for item, counts in zip(self.items, self.counts, strict=True):
            top = np.flatnonzero(counts == counts.max())
            if top.size == 1 and counts.max() > 0:
                found[item] = self.categories[int(top[0])]
        return found

    def need_numbers(self, purpose: str) -> None:
        if not self.numeric:
            shown = ", ".join(repr(c) for c in self.categories[:4])
            raise TableError(f"{purpose}: expected judgements that are numbers, found {shown}")

    @classmethod
    def of(
        cls,
        table: Mapping[str, Mapping[str, object]],
        *,
        annotators: Sequence[str] | None = None,
        rows: Mapping[str, Row] | None = None,
    ) -> Ratings:
        """From item -> annotator -> judgement, ignoring case.

        >>> r = Ratings.of({"a": {"1": "Yes", "2": "yes"}, "b": {"1": "no", "2": "skip"}})
        >>> r.categories, r.codes.tolist()
        (('no', 'yes'), [[1, 1], [0, -1]])
        """
        if annotators is None:
            annotators = list(dict.fromkeys(a for given in table.values() for a in given))
        said = {
            item: {a: word for a, v in given.items() if (word := _word(v)) not in NO_ANSWER}
            for item, given in table.items()
        }
        found = {word for given in said.values() for word in given.values()}
        numeric = bool(found) and all(_is_number(word) for word in found)
        categories = sorted(found, key=float) if numeric else sorted(found)
        if len(categories) > MOST_CATEGORIES:
            raise TableError(
                f"judgements: expected at most {MOST_CATEGORIES} different ones, found "
                f"{len(categories)}, such as {categories[0]!r} and {categories[1]!r}"
            )
        place = {c: k for k, c in enumerate(categories)}
        codes = np.array(
            [[place[g[a]] if a in g else MISSING for a in annotators] for g in said.values()],
            dtype=np.int64,
        ).reshape(len(said), len(annotators))
        rows = rows or {}
        texts = {i: str(t) for i, r in rows.items() if (t := r.get("sentence") or r.get("text"))}
        return cls(
            tuple(said), tuple(annotators), tuple(categories), codes, numeric, texts, dict(rows)
        )


def read_ratings(path: Path, *, columns: Sequence[str] | None = None) -> Ratings:
    """A table of judgements, wide or long.

    Wide: one row per item, with `id` and one column per annotator: those named in `columns`,
    otherwise those whose names start with "annotator" or "rater". Long: `id`, `annotator`, `value`.
    """
    rows = read_rows(path)
    need_columns(path, rows, ("id",))
    if columns is None and {"annotator", "value"} <= set(rows[0]):
        return _long(path, rows)
    if columns is None:
        columns = [c for c in rows[0] if c and c.lower().startswith(("annotator", "rater"))]
        if not columns:
            raise TableError(
                f"{path}: expected columns annotator_1, annotator_2, …, found "
                f"{', '.join(map(str, rows[0]))}; name them with --annotator"
            )
    need_columns(path, rows, columns)
    table: dict[str, dict[str, object]] = {}
    others: dict[str, Row] = {}
    for number, row in enumerate(rows, start=2):
        item = _item(path, row, number)
        if item in table:
            raise TableError(
                f"{path}: expected every id once, found {item!r} again in row {number}"
            )
        table[item] = {c: row[c] for c in columns}
        others[item] = {k: v for k, v in row.items() if k not in columns}
    return Ratings.of(table, annotators=columns, rows=others)


def _long(path: Path, rows: Sequence[Row]) -> Ratings:
    table: dict[str, dict[str, object]] = {}
    others: dict[str, Row] = {}
    for number, row in enumerate(rows, start=2):
        item, annotator = _item(path, row, number), str(row["annotator"])
        given = table.setdefault(item, {})
        if annotator in given:
            raise TableError(
                f"{path}: expected one judgement of {item!r} by {annotator!r}, found another in "
                f"row {number}"
            )
        given[annotator] = row["value"]
        kept = {k: v for k, v in row.items() if k not in ("annotator", "value", "comment")}
        others.setdefault(item, kept)
    return Ratings.of(table, rows=others)


def _item(path: Path, row: Row, number: int) -> str:
    item = "" if row["id"] is None else str(row["id"]).strip()
    if not item:
        raise TableError(f"{path}: row {number}: expected an id, found none")
    return item


def _word(value: object) -> str:
    if value is None:
        return ""
    text = str(value).strip().lower()
    # 4.0 and 4 are the same judgement: pandas writes integers as floats if a column has gaps.
    return text.removesuffix(".0") if _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
