"""Does a score say what people say? (COBIAS, section 4.4)

COBIAS as printed, higher meaning more reliable, in runs or in a table, against human judgements
that are turned so that higher means enough context. A score has to beat what is cheap: the length
of a statement, how many words its versions add, how surprising it is without any context (tau), and
the same score with random words in the place of context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import Plain
from clinometer.errors import SettingsError, TableError
from clinometer.reliability.finding import ReliabilityFinding, Sure, side
from clinometer.reliability.ratings import HIGH_MEANS, Ratings
from clinometer.reliability.regression import LogisticRegression, regression
from clinometer.reliability.statement_scores import (
    BASELINE,
    LENGTH,
    RANDOM,
    StatementScores,
)
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import percentile_estimate
from clinometer.statistics.rank import spearman, spearman_difference

_JUDGED = "judged"

MIN_LEVEL = 0.95
"""The least level of intervals that a verdict may rest on: low ones exclude 0 by chance."""


@dataclass(frozen=True)
class ScoreRow(Plain):
    """One score against the judgements of the same statements."""

    name: str
    role: str

    rho: Estimate | None
    """Spearman's correlation; above 0, what is judged more reliable scores higher."""

    given_length: Estimate | None
    """The correlation with the number of words held fixed; None for length itself."""

    ahead: Estimate | None
    """How far the first score is ahead of this one: the difference of their correlations, given
    length where both have one; None for the first score."""


@dataclass(frozen=True)
class Validation(Plain):
    """The rows, and what the judgements allow."""

    statements: int
    """Judged statements with every score."""

    unmatched: int
    """Judged statements and first scores without the other."""

    annotators: int
    rows: tuple[ScoreRow, ...]

    right_order: Estimate | None
    """Of two categories: the probability that a statement judged to have enough context scores
    higher than one that lacks it; 0.5 is chance."""

    outcome: Mapping[str, int]
    """Statements by their median judgement (the lower of two middle ones; of words, the most
    frequent): the response of the regression."""

    regression: LogisticRegression | None

    @property
    def passed(self) -> bool:
        """Whether the first score follows the judgements beyond length, and more than random words:
        never without these, or by intervals of a low level."""
        if not self._random:
            return False
        decisive = [self.rows[0].given_length]
        decisive += [row.ahead for row in self._random]
        return all(map(_is_surely_positive, decisive))

    @property
    def _random(self) -> list[ScoreRow]:
        return [row for row in self.rows if row.name.startswith(RANDOM)]

    @property
    def findings(self) -> list[ReliabilityFinding]:
        """The result first, then what a reader must know in addition."""
        first = self.rows[0]
        rho = first.given_length or first.rho
        words = {"score": first.name}
        if rho is None:
            return [ReliabilityFinding("no correlation", "cannot tell", words=words)]
        numbers = {
            "rho": rho,
            "statements": Estimate(self.statements),
            "people": Estimate(self.annotators),
            "sign": Estimate(side(rho)),
        }
        words["given"] = "of ranks"
        if first.given_length is not None:
            words["given"] = "with the number of words held fixed"
        sure: Sure = "clear" if side(rho) else "unclear"
        result = ReliabilityFinding(
            "agreement with people", sure, numbers=numbers, words=words
        )
        if all(row.role != BASELINE or row.name == LENGTH for row in self.rows):
            return [result]
        return [result, self._verdict(rho)]

    def _verdict(self, rho: Estimate) -> ReliabilityFinding:
        """Return whether the first score passes, or why that cannot be told."""
        if not self._random:
            return ReliabilityFinding("no control", "cannot tell")
        if not _is_of_high_level(rho):
            level = {"level": Estimate(MIN_LEVEL)}
            return ReliabilityFinding("low level", "cannot tell", numbers=level)
        return ReliabilityFinding("passed" if self.passed else "not passed", "clear")

    def to_dict(self) -> dict[str, Any]:
        findings = [finding.to_dict() for finding in self.findings]
        return {**super().to_dict(), "passed": self.passed, "findings": findings}


def _is_of_high_level(estimate: Estimate) -> bool:
    return estimate.level is not None and estimate.level >= MIN_LEVEL


def _is_surely_positive(estimate: Estimate | None) -> bool:
    if estimate is None:
        return False
    return _is_of_high_level(estimate) and side(estimate) > 0


def validate(
    ratings: Ratings,
    scores: StatementScores,
    *,
    high: str | None = None,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Validation:
    """Compare scores with judgements of the same statements. Every row has the same statements, so
    that rows can be compared.

    `high` says what a high judgement (of two words the last in the alphabet) means, "enough"
    context or "missing" context; None where the ratings say so themselves.
    """
    sign = 1 if _meaning(ratings, high) == HIGH_MEANS[0] else -1
    if ratings.by_sentence:
        scores = scores.by_sentence()
    table = _joined(ratings, scores, sign=sign)
    y = table[_JUDGED].to_numpy()
    trial = table.iloc[:, 0].to_numpy()
    length = table[LENGTH].to_numpy() if LENGTH in table else None
    bootstrap: dict[str, Any]
    bootstrap = {"replicates": replicates, "level": level, "seed": seed}
    options = bootstrap | {"unit": "statements"}
    rows: list[ScoreRow] = []
    for name, column in scores.columns.items():
        x = table[name].to_numpy()
        rho = spearman(x, y, **options)
        given = None
        partial = None
        if name != LENGTH and length is not None:
            given = length
            partial = spearman(x, y, given=given, **options)
        ahead = None
        if rows:
            ahead = spearman_difference(trial, x, y, given=given, **options)
        row = ScoreRow(
            name=name,
            role=column.role,
            rho=None if rho is None else rho.rho,
            given_length=None if partial is None else partial.rho,
            ahead=ahead,
        )
        rows.append(row)
    row_of_item = {item: i for i, item in enumerate(ratings.items)}
    outcome = _consensus(ratings, [row_of_item[item] for item in table.index])
    codes, counts = np.unique(outcome, return_counts=True)
    categories = [ratings.categories[k] for k in codes.tolist()]
    order = None
    if len(codes) == 2:
        order = right_order(trial, sign * outcome, **bootstrap)
    fit = None
    if len(codes) > 1 and np.ptp(trial) > 0:
        fit = regression(outcome, trial, categories=ratings.categories, level=level)
    first = next(iter(scores.columns.values())).values
    return Validation(
        statements=len(table),
        unmatched=len(ratings.items) + int(first.notna().sum()) - 2 * len(table),
        annotators=len(ratings.annotators),
        rows=tuple(rows),
        right_order=order,
        outcome=dict(zip(categories, counts.tolist(), strict=True)),
        regression=fit,
    )


def _meaning(ratings: Ratings, high: str | None) -> str:
    """Return what a high judgement means, as the caller and the ratings say."""
    if high is not None and high not in HIGH_MEANS:
        raise SettingsError(f"high: expected {' or '.join(HIGH_MEANS)}, found {high!r}")
    if high and ratings.high and high != ratings.high:
        raise SettingsError(
            f"high: expected {ratings.high!r}, as the ratings say of a high one, found {high!r}"
        )
    meaning = high or ratings.high
    if not meaning:
        raise SettingsError(
            "high: does a high judgement (or the last of two words, as y of n and y) mean that "
            "a statement has enough context, or that context is missing? The ratings do not say: "
            f"add --high {' or --high '.join(HIGH_MEANS)}"
        )
    return meaning


def _joined(ratings: Ratings, scores: StatementScores, *, sign: int) -> pd.DataFrame:
    """Return the statements that have a judgement and every score, a column each.

    They are in the order of the first score: the bootstrap samples by position.
    """
    columns = {name: column.values for name, column in scores.columns.items()}
    first = next(iter(columns.values()))
    columns[_JUDGED] = pd.Series(sign * ratings.means(), index=list(ratings.items))
    table: pd.DataFrame = pd.DataFrame(columns).reindex(first.index)
    table = table[np.isfinite(table.to_numpy()).all(axis=1)]
    if len(table) < 4:
        raise TableError(
            f"validate: expected at least four statements with a judgement and every score, found "
            f"{len(table)}; are the ids of both the same?"
        )
    return table


def _consensus(ratings: Ratings, rows: list[int]) -> IntArray:
    """Return one category per item [n]: the median of numbers, the most frequent (or first) of
    words."""
    if not ratings.numeric:
        return np.asarray(ratings.counts[rows].argmax(axis=1))
    codes = np.where(ratings.codes[rows] < 0, np.nan, ratings.codes[rows])
    return np.nanquantile(codes, 0.5, axis=1, method="lower").astype(np.int64)


def right_order(
    score: FloatArray,
    judged: IntArray,
    *,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the probability that one of the statements judged higher scores higher than one of the
    others, ties counting half; the interval is a bootstrap over statements within both.

    >>> right_order(np.array([1.0, 2.0, 3.0, 3.0]), np.array([0, 0, 1, 0]), replicates=0).value
    0.8333333333333334
    """
    upper = score[judged == judged.max()]
    lower = score[judged == judged.min()]
    wins = (upper[:, None] > lower) + 0.5 * (upper[:, None] == lower)
    rng = np.random.default_rng(seed)
    weights = []
    for n in wins.shape:
        counts = rng.multinomial(n, np.full(n, 1 / n), size=replicates)
        weights.append(counts / n)
    samples = np.einsum("bi,ij,bj->b", weights[0], wins, weights[1])
    return percentile_estimate(
        float(wins.mean()),
        samples,
        level=level,
        method="bootstrap over statements",
        contain=True,
    )
