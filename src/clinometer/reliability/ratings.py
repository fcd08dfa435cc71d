"""Judgements of the same items by several annotators, the tables that they are read from, and the
items that enough of them accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np

from clinometer.errors import SettingsError, TableError
from clinometer.settings import COUNT, SHARE_ABOVE_0
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.rows import (
    Row,
    is_number,
    need_columns,
    need_unique_ids,
    read_rows,
)

NO_ANSWER = frozenset({"", "skip", "na", "nan", "none", "null"})
"""Answers that count as missing."""

MAX_CATEGORIES = 50
"""With more distinct values than this, a column contains measurements, not categories."""

MISSING = -1
"""The code of a missing judgement."""

HIGH_MEANS = ("enough", "missing")
"""What a high rating can say of a statement's context."""

HIGH = "high_means"
"""The column in which a table may say what a high rating means."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Judgements of n items by m annotators, each one of K categories."""

    items: tuple[str, ...]
    annotators: tuple[str, ...]

    categories: tuple[str, ...]
    """The different judgements: numbers by value, words by the alphabet."""

    codes: IntArray
    """[n, m] indices into `categories`; -1 for no judgement."""

    numeric: bool
    """Whether every category is a number."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    """The other columns of each item, by id."""

    by_sentence: bool = False
    """Whether an item is known by the words of its sentence: the table had no ids."""

    @property
    def high(self) -> str:
        """What a high rating says of a statement's context, one of `HIGH_MEANS`; "" where the
        table does not say."""
        meanings = set()
        for row in self.rows.values():
            if row.get(HIGH):
                meanings.add(str(row[HIGH]).strip().lower())
        if not meanings:
            return ""
        if len(meanings) > 1 or not meanings <= set(HIGH_MEANS):
            raise TableError(
                f"{HIGH}: expected {' or '.join(HIGH_MEANS)} in every row, found "
                f"{', '.join(sorted(meanings))}"
            )
        return meanings.pop()

    @property
    def counts(self) -> IntArray:
        """[n, K]: number of judgements per item and category."""
        return count_votes(self.codes, len(self.categories))

    @property
    def values(self) -> FloatArray:
        """[K] the value of each category: its number, or its index."""
        if self.numeric:
            return np.array([float(name) for name in self.categories])
        return np.arange(len(self.categories), dtype=float)

    def means(self) -> FloatArray:
        """Return the mean judgement of each item [n]; NaN for an item without any.

        Of two words the first in the alphabet is 0, the other 1; more words have no mean.
        """
        if not self.numeric and len(self.categories) != 2:
            raise TableError(
                f"mean judgements: expected numbers, or two different words, found "
                f"{', '.join(map(repr, self.categories[:4]))}"
            )
        counts = self.counts
        total = counts.sum(axis=1)
        return np.where(total > 0, counts @ self.values / np.maximum(total, 1), np.nan)

    def most_frequent(self) -> dict[str, str]:
        """Return the most frequent category of each item that has a single one, by id.

        >>> table = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no"}}
        >>> Ratings.of(table).most_frequent()
        {'a': 'yes'}
        """
        majority = zip(self.items, self.majority().tolist(), strict=True)
        return {item: self.categories[code] for item, code in majority if code >= 0}

    def majority(self) -> IntArray:
        """Return the category with the most judgements [n]; -1 for a tie or no judgement."""
        counts = self.counts
        top = counts.max(axis=1)
        is_single = (counts == top[:, None]).sum(axis=1) == 1
        return np.where(is_single & (top > 0), counts.argmax(axis=1), -1)

    def stratified(self, *, seed: int = 0) -> Ratings:
        """Return a random sample with as many items of each majority as the rarest of them has.

        Items without a majority are left out. The COBIAS paper computed kappa on such a sample.

        >>> table = {item: {"1": w, "2": w} for item, w in zip("abc", ["yes", "yes", "no"])}
        >>> len(Ratings.of(table).stratified().items)
        2
        """
        majority = self.majority()
        codes = np.unique(majority[majority >= 0])
        strata = [np.flatnonzero(majority == code) for code in codes]
        size = min(map(len, strata), default=0)
        rng = np.random.default_rng(seed)
        sample: list[int] = []
        for stratum in strata:
            sample += rng.choice(stratum, size, replace=False).tolist()
        sample.sort()
        items = tuple(self.items[i] for i in sample)
        return replace(self, items=items, codes=self.codes[sample])

    @classmethod
    def of(
        cls,
        table: Mapping[str, Mapping[str, object]],
        *,
        annotators: Sequence[str] | None = None,
        rows: Mapping[str, Row] | None = None,
    ) -> Ratings:
        """Return ratings from item -> annotator -> judgement, ignoring case.

        >>> r = Ratings.of({"a": {"1": "Yes", "2": "yes"}, "b": {"1": "no", "2": "skip"}})
        >>> r.categories, r.codes.tolist()
        (('no', 'yes'), [[1, 1], [0, -1]])
        """
        if annotators is None:
            annotators = list(dict.fromkeys(chain.from_iterable(table.values())))
        judgements = []
        for row in table.values():
            judgements.append([_judgement(row.get(name)) for name in annotators])
        words = set(chain.from_iterable(judgements)) - {""}
        numeric = bool(words) and all(map(is_number, words))
        categories = sorted(words, key=float if numeric else None)
        if len(categories) > MAX_CATEGORIES:
            raise TableError(
                f"judgements: expected at most {MAX_CATEGORIES} different ones, found "
                f"{len(categories)}, such as {categories[0]!r} and {categories[1]!r}"
            )
        code_of = {category: code for code, category in enumerate(categories)}
        code_of[""] = MISSING
        codes = np.empty((len(table), len(annotators)), dtype=np.int64)
        for i, words_of_item in enumerate(judgements):
            codes[i] = [code_of[word] for word in words_of_item]
        return cls(
            items=tuple(table),
            annotators=tuple(annotators),
            categories=tuple(categories),
            codes=codes,
            numeric=numeric,
            rows=dict(rows or {}),
        )


def count_votes(codes: IntArray, n_categories: int) -> IntArray:
    """Return the judgements of each category [n, K] in each row of judgements [n, m]."""
    votes = [(codes == k).sum(axis=1) for k in range(n_categories)]
    return np.stack(votes, axis=1)


def _judgement(value: object) -> str:
    """Return a judgement as a lower-case word; "" for a missing one."""
    if value is None:
        return ""
    word = str(value).strip().lower()
    if word in NO_ANSWER:
        return ""
    if is_number(word):
        # 4.0 and 4 are the same: pandas writes integers as floats if a column has gaps.
        return word.removesuffix(".0")
    return word


def read_ratings(path: Path, *, columns: Sequence[str] | None = None) -> Ratings:
    """Read a table of judgements, wide or long.

    Wide: one row per item, with `id` and one column per annotator: those named in `columns`,
    otherwise those whose names start with "annotator" or "rater". Long: `id`, `annotator`, `value`.
    A wide table without `id` is known by its `sentence`s.
    """
    rows = list(read_rows(path))
    header = list(rows[0]) if rows else []
    by_sentence = bool(columns) and "id" not in header and "sentence" in header
    if by_sentence:
        rows = [{"id": sentence_key(str(row["sentence"] or "")), **row} for row in rows]
    need_columns(path, rows, ("id",))
    ids = ["" if row["id"] is None else str(row["id"]).strip() for row in rows]
    if "" in ids:
        raise TableError(f"{path}: row {ids.index('') + 2}: expected an id, found none")
    if columns is None and {"annotator", "value"} <= set(header):
        return _long(path, ids, rows)
    if columns is None:
        columns = _annotator_columns(path, header)
    need_columns(path, rows, columns)
    need_unique_ids(path, ids)
    table = {}
    other_columns = {}
    for item, row in zip(ids, rows, strict=True):
        table[item] = {column: row[column] for column in columns}
        other_columns[item] = _without(row, columns)
    ratings = Ratings.of(table, annotators=columns, rows=other_columns)
    return replace(ratings, by_sentence=by_sentence)


def _annotator_columns(path: Path, header: Sequence[str]) -> list[str]:
    """Return the columns whose names start with "annotator" or "rater"."""
    columns = []
    for column in header:
        if column and column.lower().startswith(("annotator", "rater")):
            columns.append(column)
    if not columns:
        raise TableError(
            f"{path}: expected columns annotator_1, annotator_2, …, found "
            f"{', '.join(map(str, header))}; name them with --annotator"
        )
    return columns


def _long(path: Path, ids: Sequence[str], rows: Sequence[Row]) -> Ratings:
    """Return the ratings of a table with a row per judgement."""
    table: dict[str, dict[str, object]] = {}
    other_columns: dict[str, Row] = {}
    for number, (item, row) in enumerate(zip(ids, rows, strict=True), start=2):
        judgements = table.setdefault(item, {})
        annotator = str(row["annotator"])
        if annotator in judgements:
            raise TableError(
                f"{path}: expected one judgement of {item!r} by {annotator!r}, found another in "
                f"row {number}"
            )
        judgements[annotator] = row["value"]
        rest = _without(row, ("annotator", "value", "comment"))
        other_columns.setdefault(item, rest)
    return Ratings.of(table, rows=other_columns)


def _without(row: Row, columns: Sequence[str]) -> Row:
    return {name: value for name, value in row.items() if name not in columns}


def sentence_key(text: str) -> str:
    """Return what a sentence is known by where there is no id: its letters and digits, ignoring
    case.

    >>> sentence_key("She's tired.") == sentence_key("she’s tired")
    True
    """
    return "".join(filter(str.isalnum, text.casefold()))


def texts_of(rows: Mapping[str, Row]) -> dict[str, str]:
    """Return the sentences of a table by id, if it has them."""
    texts = {}
    for item, row in rows.items():
        text = row.get("sentence") or row.get("text")
        if text:
            texts[item] = str(text)
    return texts


def accepted(
    ratings: Ratings,
    categories: Sequence[str] = ("yes",),
    *,
    share: Fraction = Fraction(2, 3),
    judgements: int = 2,
) -> tuple[str, ...]:
    """Return the ids of the items of which `share` of the judgements, and there are as many as
    `judgements`, are in `categories`; in their order.

    Fractions, so that two of three is exactly two thirds.

    >>> table = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no", "3": "no"}}
    >>> accepted(Ratings.of(table))
    ('a',)
    """
    SHARE_ABOVE_0.check("share", share)
    COUNT.check("judgements", judgements)
    codes = [k for k, name in enumerate(ratings.categories) if name in categories]
    if not codes:
        raise SettingsError(
            f"accept: expected one of {', '.join(ratings.categories)}; found "
            f"{', '.join(categories)}"
        )
    ids = []
    for item, votes in zip(ratings.items, ratings.counts.tolist(), strict=True):
        n = sum(votes)
        in_favour = sum(votes[k] for k in codes)
        if n >= judgements and in_favour >= share * n:
            ids.append(item)
    return tuple(ids)


def parse_share(text: str) -> Fraction:
    """Return 2/3, 0.75 or 75% as a fraction.

    >>> parse_share("2/3"), parse_share("75%")
    (Fraction(2, 3), Fraction(3, 4))
    """
    try:
        number = text.strip()
        if number.endswith("%"):
            return Fraction(number.removesuffix("%")) / 100
        return Fraction(number)
    except (ValueError, ZeroDivisionError) as error:
        raise SettingsError(
            f"share: expected a share such as 2/3 or 0.75, found {text!r}"
        ) from error
