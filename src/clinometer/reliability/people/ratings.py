"""Judgements of several annotators about the same items; some may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import TableError
from clinometer.reliability.benchmarks import need_columns, need_unique_ids
from clinometer.storage.rows import Row, is_number, read_rows

#: Answers that count as missing.
NO_ANSWER = frozenset({"", "skip", "na", "nan", "none", "null"})
#: With more distinct values than this, a column contains measurements, not categories.
MOST_CATEGORIES = 50
MISSING = -1
#: What a high rating says of a statement's context; a table may say so in a column of this name.
HIGH_MEANS = ("enough", "missing")
HIGH = "high_means"


@dataclass(frozen=True, eq=False)
class Ratings:
    """codes [n items, m annotators] are indices into `categories`; -1 for no judgement.

    numeric     whether every category is a number; categories are then sorted by value
    by_sentence whether an item is known by the words of its sentence: the table had no ids
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
    by_sentence: bool = False

    @property
    def high(self) -> str:
        """What a high rating says of a statement's context, one of `HIGH_MEANS`; "" where the
        table does not say."""
        said = {str(row[HIGH]).strip().lower() for row in self.rows.values() if row.get(HIGH)}
        if not said:
            return ""
        if len(said) > 1 or not said <= set(HIGH_MEANS):
            raise TableError(
                f"{HIGH}: expected {' or '.join(HIGH_MEANS)} in every row, found "
                f"{', '.join(sorted(said))}"
            )
        return said.pop()

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
        """[n] mean judgement of each item; NaN for an item without any. Of two words the first
        in the alphabet is 0, the other 1; more words have no mean."""
        if not self.numeric and len(self.categories) != 2:
            shown = ", ".join(repr(c) for c in self.categories[:4])
            raise TableError(
                f"mean judgements: expected numbers, or two different words, found {shown}"
            )
        counts = self.counts
        total = counts.sum(axis=1)
        return np.where(total > 0, counts @ self.values / np.maximum(total, 1), np.nan)

    def most_frequent(self) -> dict[str, str]:
        """The most frequent category of each item, by id; items without a single one are left out.

        >>> said = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no"}}
        >>> Ratings.of(said).most_frequent()
        {'a': 'yes'}
        """
        return {
            item: self.categories[k]
            for item, k in zip(self.items, self.majority().tolist(), strict=True)
            if k >= 0
        }

    def majority(self) -> NDArray[np.int64]:
        """[n] the category with the most judgements; -1 for a tie or no judgement."""
        counts = self.counts
        top = counts.max(axis=1)
        alone = (counts == top[:, None]).sum(axis=1) == 1
        return np.where(alone & (top > 0), counts.argmax(axis=1), -1)

    def stratified(self, *, seed: int = 0) -> Ratings:
        """As many items of each majority, at random: as many as the rarest of them has. Items
        without a majority are left out. The COBIAS paper computed kappa on such a sample.

        >>> said = {i: {"1": w, "2": w} for i, w in zip("abc", ["yes", "yes", "no"])}
        >>> len(Ratings.of(said).stratified().items)
        2
        """
        majority = self.majority()
        strata = [np.flatnonzero(majority == k) for k in np.unique(majority[majority >= 0])]
        rng, n = np.random.default_rng(seed), min(map(len, strata), default=0)
        rows = sorted(i for s in strata for i in rng.choice(s, n, replace=False).tolist())
        return replace(self, items=tuple(self.items[i] for i in rows), codes=self.codes[rows])

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
            annotators = list(dict.fromkeys(a for row in table.values() for a in row))
        judgements = {
            item: {a: word for a, v in row.items() if (word := _word(v)) not in NO_ANSWER}
            for item, row in table.items()
        }
        words = {word for row in judgements.values() for word in row.values()}
        numeric = bool(words) and all(is_number(word) for word in words)
        categories = sorted(words, key=float) if numeric else sorted(words)
        if len(categories) > MOST_CATEGORIES:
            raise TableError(
                f"judgements: expected at most {MOST_CATEGORIES} different ones, found "
                f"{len(categories)}, such as {categories[0]!r} and {categories[1]!r}"
            )
        place = {c: k for k, c in enumerate(categories)}
        codes = np.array(
            [[place[r[a]] if a in r else MISSING for a in annotators] for r in judgements.values()],
            dtype=np.int64,
        ).reshape(len(table), len(annotators))
        rows = rows or {}
        texts = {i: str(t) for i, r in rows.items() if (t := r.get("sentence") or r.get("text"))}
        return cls(
            tuple(table), tuple(annotators), tuple(categories), codes, numeric, texts, dict(rows)
        )


def read_ratings(path: Path, *, columns: Sequence[str] | None = None) -> Ratings:
    """A table of judgements, wide or long. A wide one without `id` is known by its `sentence`s.

    Wide: one row per item, with `id` and one column per annotator: those named in `columns`,
    otherwise those whose names start with "annotator" or "rater". Long: `id`, `annotator`, `value`.
    """
    rows = list(read_rows(path))
    by_sentence = bool(rows) and "id" not in rows[0] and "sentence" in rows[0] and columns
    if by_sentence:
        rows = [{"id": sentence_key(str(row["sentence"] or "")), **row} for row in rows]
    need_columns(path, rows, ("id",))
    ids = ["" if row["id"] is None else str(row["id"]).strip() for row in rows]
    if "" in ids:
        raise TableError(f"{path}: row {ids.index('') + 2}: expected an id, found none")
    if columns is None and {"annotator", "value"} <= set(rows[0]):
        return _long(path, ids, rows)
    if columns is None:
        columns = [c for c in rows[0] if c and c.lower().startswith(("annotator", "rater"))]
        if not columns:
            raise TableError(
                f"{path}: expected columns annotator_1, annotator_2, …, found "
                f"{', '.join(map(str, rows[0]))}; name them with --annotator"
            )
    need_columns(path, rows, columns)
    need_unique_ids(path, ids)
    by_id = dict(zip(ids, rows, strict=True))
    table = {id: {c: row[c] for c in columns} for id, row in by_id.items()}
    others = {id: {k: v for k, v in row.items() if k not in columns} for id, row in by_id.items()}
    ratings = Ratings.of(table, annotators=columns, rows=others)
    return replace(ratings, by_sentence=bool(by_sentence))


def sentence_key(text: str) -> str:
    """What a sentence is known by where there is no id: its letters and digits, ignoring case.

    >>> sentence_key("She's tired.") == sentence_key("she’s tired")
    True
    """
    return "".join(c for c in text.casefold() if c.isalnum())


def _long(path: Path, ids: Sequence[str], rows: Sequence[Row]) -> Ratings:
    table: dict[str, dict[str, object]] = {}
    others: dict[str, Row] = {}
    for number, (id, row) in enumerate(zip(ids, rows, strict=True), start=2):
        judgements, annotator = table.setdefault(id, {}), str(row["annotator"])
        if annotator in judgements:
            raise TableError(
                f"{path}: expected one judgement of {id!r} by {annotator!r}, found another in "
                f"row {number}"
            )
        judgements[annotator] = row["value"]
        own = {k: v for k, v in row.items() if k not in ("annotator", "value", "comment")}
        others.setdefault(id, own)
    return Ratings.of(table, rows=others)


def _word(value: object) -> str:
    if value is None:
        return ""
    text = str(value).strip().lower()
    # 4.0 and 4 are the same judgement: pandas writes integers as floats if a column has gaps.
    return text.removesuffix(".0") if is_number(text) else text
