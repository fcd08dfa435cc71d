"""Do annotators agree? Their judgements of the same items, percent agreement, how much of it is
chance, who deviates, and which items enough of them accept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clinometer.display.numbers import percent
from clinometer.display.text import plain
from clinometer.errors import SettingsError, TableError
from clinometer.settings import COUNT, LEVEL, REPLICATES, SEED, SHARE_ABOVE_0
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import (
    percentile_estimate,
    resampled_counts,
)
from clinometer.storage.rows import (
    Row,
    is_number,
    need_columns,
    need_unique_ids,
    read_rows,
)

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
    rows        the other columns of each item by id
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    categories: tuple[str, ...]
    codes: IntArray
    numeric: bool
    rows: Mapping[str, Row] = field(default_factory=dict)
    by_sentence: bool = False

    @property
    def high(self) -> str:
        """What a high rating says of a statement's context, one of `HIGH_MEANS`; "" where the
        table does not say."""
        said = {
            str(row[HIGH]).strip().lower()
            for row in self.rows.values()
            if row.get(HIGH)
        }
        if not said:
            return ""
        if len(said) > 1 or not said <= set(HIGH_MEANS):
            raise TableError(
                f"{HIGH}: expected {' or '.join(HIGH_MEANS)} in every row, found "
                f"{', '.join(sorted(said))}"
            )
        return said.pop()

    @property
    def counts(self) -> IntArray:
        """[n, K]: number of judgements per item and category."""
        return _votes(self.codes, len(self.categories))

    @property
    def values(self) -> FloatArray:
        """[K] the value of each category: its number, or its index."""
        if self.numeric:
            return np.array([float(c) for c in self.categories])
        return np.arange(len(self.categories), dtype=float)

    def means(self) -> FloatArray:
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

    def majority(self) -> IntArray:
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
        strata = [
            np.flatnonzero(majority == k) for k in np.unique(majority[majority >= 0])
        ]
        rng, n = np.random.default_rng(seed), min(map(len, strata), default=0)
        rows = sorted(
            i for s in strata for i in rng.choice(s, n, replace=False).tolist()
        )
        return replace(
            self, items=tuple(self.items[i] for i in rows), codes=self.codes[rows]
        )

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
            item: {
                a: word for a, v in row.items() if (word := _word(v)) not in NO_ANSWER
            }
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
            [
                [place[r[a]] if a in r else MISSING for a in annotators]
                for r in judgements.values()
            ],
            dtype=np.int64,
        ).reshape(len(table), len(annotators))
        names = tuple(table), tuple(annotators), tuple(categories)
        return cls(*names, codes, numeric, dict(rows or {}))


def texts_of(rows: Mapping[str, Row]) -> dict[str, str]:
    """The sentences of a table by id, if it has them."""
    return {
        i: str(t) for i, r in rows.items() if (t := r.get("sentence") or r.get("text"))
    }


def read_ratings(path: Path, *, columns: Sequence[str] | None = None) -> Ratings:
    """A table of judgements, wide or long. A wide one without `id` is known by its `sentence`s.

    Wide: one row per item, with `id` and one column per annotator: those named in `columns`,
    otherwise those whose names start with "annotator" or "rater". Long: `id`, `annotator`, `value`.
    """
    rows = list(read_rows(path))
    by_sentence = (
        bool(rows) and "id" not in rows[0] and "sentence" in rows[0] and columns
    )
    if by_sentence:
        rows = [{"id": sentence_key(str(row["sentence"] or "")), **row} for row in rows]
    need_columns(path, rows, ("id",))
    ids = ["" if row["id"] is None else str(row["id"]).strip() for row in rows]
    if "" in ids:
        raise TableError(f"{path}: row {ids.index('') + 2}: expected an id, found none")
    if columns is None and {"annotator", "value"} <= set(rows[0]):
        return _long(path, ids, rows)
    if columns is None:
        columns = [
            c for c in rows[0] if c and c.lower().startswith(("annotator", "rater"))
        ]
        if not columns:
            raise TableError(
                f"{path}: expected columns annotator_1, annotator_2, …, found "
                f"{', '.join(map(str, rows[0]))}; name them with --annotator"
            )
    need_columns(path, rows, columns)
    need_unique_ids(path, ids)
    by_id = dict(zip(ids, rows, strict=True))
    table = {id: {c: row[c] for c in columns} for id, row in by_id.items()}
    others = {
        id: {k: v for k, v in row.items() if k not in columns}
        for id, row in by_id.items()
    }
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
        own = {
            k: v for k, v in row.items() if k not in ("annotator", "value", "comment")
        }
        others.setdefault(id, own)
    return Ratings.of(table, rows=others)


def _word(value: object) -> str:
    if value is None:
        return ""
    text = str(value).strip().lower()
    # 4.0 and 4 are the same judgement: pandas writes integers as floats if a column has gaps.
    return text.removesuffix(".0") if is_number(text) else text


# --- Beyond chance: Fleiss, Cohen and Krippendorff ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sums:
    """What one item adds to a statistic, for each pattern [P, m] of judgements (-1 missing) once: a
    bootstrap over items is then one product of counts [B, P] and these.

    Every statistic takes `counts` of the patterns, shape [...], and returns an array of that shape;
    NaN where it is not defined (no item was judged twice, or all judgements are the same).
    """

    patterns: IntArray
    counts: IntArray
    values: FloatArray

    @classmethod
    def of(cls, codes: IntArray, values: FloatArray) -> Sums:
        patterns, counts = np.unique(codes, axis=0, return_counts=True)
        return cls(patterns, counts, values)

    @cached_property
    def votes(self) -> FloatArray:
        """[P, K] judgements of each category in a pattern."""
        return _votes(self.patterns, len(self.values)).astype(float)

    @cached_property
    def judged(self) -> FloatArray:
        """[P] judgements in a pattern."""
        return np.asarray(self.votes.sum(axis=1))


def _votes(codes: IntArray, categories: int) -> IntArray:
    """[n, K] judgements of each category in a row of judgements [n, m]."""
    return np.stack([(codes == k).sum(axis=1) for k in range(categories)], axis=1)


def observed_agreement(sums: Sums, counts: IntArray) -> FloatArray:
    """Share of pairs of judgements of an item that are the same, mean over items judged twice."""
    n = sums.judged
    twice = n >= 2
    same = (sums.votes * (sums.votes - 1)).sum(axis=1) / np.where(twice, n * (n - 1), 1)
    return _ratio(counts @ (same * twice), counts @ twice.astype(float))


def category_shares(sums: Sums, counts: IntArray) -> FloatArray:
    """[..., K] mean over items of the share of judgements in each category."""
    shares = sums.votes / np.maximum(sums.judged, 1)[:, None]
    judged = counts @ (sums.judged >= 1).astype(float)
    return _ratio(counts @ shares, judged[..., None])


def fleiss_kappa(sums: Sums, counts: IntArray) -> FloatArray:
    """(P - P_e) / (1 - P_e) with P_e the sum of squared category shares (Fleiss 1971).

    Items may be judged by different numbers of people (Gwet 2014): each counts once in P if it was
    judged twice, and once in the shares if it was judged at all. 1: always the same judgement of
    an item; 0: as often as chance; negative: less.
    """
    by_chance = (category_shares(sums, counts) ** 2).sum(axis=-1)
    return _ratio(observed_agreement(sums, counts) - by_chance, 1 - by_chance)


def krippendorff_alpha(
    sums: Sums, counts: IntArray, level: Literal["nominal", "interval"] = "nominal"
) -> FloatArray:
    """1 - D_o / D_e, observed over expected disagreement; items judged once do not count.

    `level` says how far two categories are apart: the same or not, or by their difference.
    """
    n, votes = sums.judged, sums.votes
    twice = n >= 2
    pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * np.eye(
        votes.shape[1]
    )
    coincidences = pairs * (twice / np.where(twice, n - 1, 1))[:, None, None]
    gaps = sums.values[:, None] - sums.values[None, :]
    apart = 1.0 - np.eye(len(gaps)) if level == "nominal" else gaps**2
    return _beyond_chance(coincidences, counts, apart, spent=1)


def cohen_kappa(sums: Sums, counts: IntArray, a: int, b: int) -> FloatArray:
    """Cohen's kappa of annotators a and b over the items that both have judged."""
    x, y = sums.patterns[:, a], sums.patterns[:, b]
    cells = np.zeros((len(x), len(sums.values), len(sums.values)))
    both = np.flatnonzero((x >= 0) & (y >= 0))
    cells[both, x[both], y[both]] = 1
    return _beyond_chance(cells, counts, 1.0 - np.eye(len(sums.values)), spent=0)


def _beyond_chance(
    pairs: FloatArray, counts: IntArray, apart: FloatArray, *, spent: int
) -> FloatArray:
    """1 - observed over expected disagreement of the pairs [P, K, K] of each pattern, of categories
    that are so far `apart` [K, K]; `spent`: whether a judgement is not paired with itself."""
    flat = counts @ pairs.reshape(len(pairs), -1)
    table = flat.reshape(*flat.shape[:-1], *pairs.shape[1:])
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    seen = (table * apart).sum(axis=(-2, -1)) * (rows.sum(axis=-1) - spent)
    by_chance = rows[..., :, None] * columns[..., None, :]
    return 1 - _ratio(seen, (by_chance * apart).sum(axis=(-2, -1)))


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """a / b; NaN if b is 0 up to rounding."""
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    return np.asarray(
        np.divide(a, b, out=np.full(a.shape, np.nan), where=np.abs(b) > 1e-12)
    )


# --- What is told of annotators -------------------------------------------------------------------

NO_MAJORITY = "no majority"
#: Above this share of one category, kappa says more about the skew than about the annotators.
SKEWED = 0.75
#: Annotators whose shares of a category are this far apart use the categories differently.
APART = 0.25


@dataclass(frozen=True)
class PairKappa:
    """Cohen's kappa of two annotators over the n items both have judged."""

    a: str
    b: str
    n: int
    kappa: Estimate | None


@dataclass(frozen=True)
class AnnotatorRow:
    """One annotator's judgements, and how often the majority disagreed (Figure 4).

    shares        of each category in the annotator's judgements
    against       category -> items with this majority for which the annotator chose another
    with_majority category -> items with this majority that the annotator judged
    """

    annotator: str
    n: int
    shares: Mapping[str, float]
    against: Mapping[str, int]
    with_majority: Mapping[str, int]


@dataclass(frozen=True)
class Agreement:
    """Agreement of annotators about items.

    levels       (category, its share of the judgements, items): Table 1; ties are NO_MAJORITY
    observed     share of pairs of judgements of an item that agree
    fleiss       agreement beyond chance; None where it is not defined
    alpha        Krippendorff's, by interval for numbers, else nominal
    prevalence   share of each category, mean over items
    by_chance    expected agreement of two people who ignore the items (Fleiss)
    notes        sentences that explain how to read the numbers
    """

    items: int
    judged_twice: int
    annotators: tuple[AnnotatorRow, ...]
    judgements: int
    levels: tuple[tuple[str, Fraction, int], ...]
    observed: Estimate | None
    fleiss: Estimate | None
    alpha: Estimate | None
    cohen: tuple[PairKappa, ...]
    prevalence: Mapping[str, float]
    by_chance: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "summary": {
                "observed": plain(self.observed),
                "fleiss_kappa": plain(self.fleiss),
                "krippendorff_alpha": plain(self.alpha),
                "by_chance": self.by_chance,
                "items": self.items,
                "judged_twice": self.judged_twice,
                "judgements": self.judgements,
            },
            "levels": [
                {"category": c, "agreement": float(share), "items": n}
                for c, share, n in self.levels
            ],
            "prevalence": plain(self.prevalence),
            "cohen_kappa": plain(self.cohen),
            "annotators": plain(self.annotators),
            "notes": plain(self.notes),
        }


def agreement(
    ratings: Ratings, *, replicates: int = 2000, level: float = 0.95, seed: int = 0
) -> Agreement:
    """Every statistic with a percentile bootstrap over items; replicates 0: no intervals."""
    if len(ratings.annotators) < 2:
        raise TableError(
            f"judgements: expected two annotators or more, found {len(ratings.annotators)}"
        )
    if not ratings.categories:
        raise TableError("judgements: expected at least one, found none")
    REPLICATES.check("replicates", replicates)
    LEVEL.check("level", level)
    SEED.check("seed", seed)
    sums = Sums.of(ratings.codes, ratings.values)
    times = replicates if sums.counts.sum() > 1 else 0
    draws = resampled_counts(sums.counts, times, np.random.default_rng(seed))

    def estimate(statistic: Callable[[Sums, IntArray], FloatArray]) -> Estimate | None:
        value = float(statistic(sums, sums.counts))
        if not np.isfinite(value):
            return None
        drawn = statistic(sums, draws)
        how = "bootstrap over items"
        return percentile_estimate(value, drawn, level=level, method=how, contain=True)

    def pair(a: int, b: int) -> PairKappa:
        both = int((ratings.codes[:, [a, b]] >= 0).all(axis=1).sum())
        names = ratings.annotators[a], ratings.annotators[b]
        return PairKappa(*names, both, estimate(partial(cohen_kappa, a=a, b=b)))

    shares = category_shares(sums, sums.counts)
    prevalence = dict(zip(ratings.categories, shares.tolist(), strict=True))
    everybody = range(len(ratings.annotators))
    rows = tuple(_annotator(ratings, j) for j in everybody)
    fleiss, observed = estimate(fleiss_kappa), estimate(observed_agreement)
    apart: Literal["nominal", "interval"] = "interval" if ratings.numeric else "nominal"
    by_chance = float((shares**2).sum())
    return Agreement(
        items=len(ratings.items),
        judged_twice=int((ratings.counts.sum(axis=1) >= 2).sum()),
        annotators=rows,
        judgements=int((ratings.codes >= 0).sum()),
        levels=_levels(ratings),
        observed=observed,
        fleiss=fleiss,
        alpha=estimate(partial(krippendorff_alpha, level=apart)),
        cohen=tuple(pair(a, b) for a, b in combinations(everybody, 2)),
        prevalence=prevalence,
        by_chance=by_chance,
        notes=tuple(_notes(prevalence, by_chance, observed, fleiss, rows)),
    )


def _levels(ratings: Ratings) -> tuple[tuple[str, Fraction, int], ...]:
    votes = zip(ratings.majority().tolist(), ratings.counts.tolist(), strict=True)
    items = Counter((k, Fraction(max(n), sum(n))) for k, n in votes if sum(n) >= 2)
    names = (*ratings.categories, NO_MAJORITY)  # -1 is the last
    ordered = sorted(items.items(), key=lambda x: (x[0][0] < 0, *x[0]))
    return tuple((names[k], share, n) for (k, share), n in ordered)


def _annotator(ratings: Ratings, j: int) -> AnnotatorRow:
    own = ratings.codes[:, j]
    majority = np.where(ratings.counts.sum(axis=1) >= 2, ratings.majority(), -1)
    n = int((own >= 0).sum())
    named = list(enumerate(ratings.categories))
    return AnnotatorRow(
        annotator=ratings.annotators[j],
        n=n,
        shares={c: float((own == k).sum() / n) if n else 0.0 for k, c in named},
        against={
            c: int(((majority == k) & (own >= 0) & (own != k)).sum()) for k, c in named
        },
        with_majority={c: int(((majority == k) & (own >= 0)).sum()) for k, c in named},
    )


def _notes(
    prevalence: Mapping[str, float],
    by_chance: float,
    observed: Estimate | None,
    fleiss: Estimate | None,
    rows: tuple[AnnotatorRow, ...],
) -> list[str]:
    """Warnings about misleading values of kappa."""
    found = []
    top, share = max(prevalence.items(), key=lambda x: x[1])
    if observed is None:
        return ["No item was judged by two people: there is no agreement to measure."]
    if fleiss is None:
        return [f"Every judgement is {top!r}: agreement beyond chance is not defined."]
    if share >= SKEWED:
        found.append(
            f"Kappa paradox: {percent(share)} of the judgements are {top!r}, so people who ignored "
            f"the items would agree on {percent(by_chance)} of them. These agree on "
            f"{percent(observed.value)}; kappa ({fleiss.value:.2f}) sees only the "
            f"{percent(1 - by_chance)} that chance leaves. "
            "Read it next to the observed agreement, which the skew does not push down."
        )
    for category in prevalence:
        shares = [(row.shares[category], row.annotator) for row in rows if row.n]
        (low, least), (high, most) = min(shares), max(shares)
        if high - low >= APART:
            found.append(
                f"{most} chose {category!r} for {percent(high)} of the items, {least} for "
                f"{percent(low)}: they use the categories differently. Review the guidelines with "
                "them first."
            )
            break
    return found


def accepted(
    ratings: Ratings,
    categories: Sequence[str] = ("yes",),
    *,
    share: Fraction = Fraction(2, 3),
    judgements: int = 2,
) -> tuple[str, ...]:
    """Ids of the items of which `share` of the judgements, and there are as many as `judgements`,
    are in `categories`; in their order. Fractions, so that two of three is exactly two thirds.

    >>> said = {"a": {"1": "yes", "2": "yes", "3": "no"}, "b": {"1": "yes", "2": "no", "3": "no"}}
    >>> accepted(Ratings.of(said))
    ('a',)
    """
    SHARE_ABOVE_0.check("share", share)
    COUNT.check("judgements", judgements)
    places = [k for k, c in enumerate(ratings.categories) if c in categories]
    if not places:
        raise SettingsError(
            f"accept: expected one of {', '.join(ratings.categories)}; found "
            f"{', '.join(categories)}"
        )
    counts = ratings.counts
    votes, judged = counts[:, places].sum(axis=1), counts.sum(axis=1)
    return tuple(
        item
        for item, yes, n in zip(
            ratings.items, votes.tolist(), judged.tolist(), strict=True
        )
        if n >= judgements and yes >= share * n
    )


def parse_share(text: str) -> Fraction:
    """2/3, 0.75 or 75% as a fraction.

    >>> parse_share("2/3"), parse_share("75%")
    (Fraction(2, 3), Fraction(3, 4))
    """
    try:
        number = text.strip().removesuffix("%")
        return Fraction(number) / (100 if number != text.strip() else 1)
    except (ValueError, ZeroDivisionError) as error:
        raise SettingsError(
            f"share: expected a share such as 2/3 or 0.75, found {text!r}"
        ) from error
