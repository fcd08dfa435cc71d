"""Does a score say what people say? (COBIAS, section 4.4)

COBIAS as printed, higher meaning more reliable, in runs or in a table, against human judgements
that are turned so that higher means enough context. A score has to beat what is cheap: the length
of a statement, how many words its versions add, how surprising it is without any context (tau), and
the same score with random words in the place of context.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import Plain
from clinometer.errors import SettingsError, TableError
from clinometer.extras import require
from clinometer.reliability.findings import ReliabilityFinding, Sure, side
from clinometer.reliability.folder import RANDOM_FOLDER
from clinometer.reliability.ratings import HIGH_MEANS, Ratings, sentence_key
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.scoring import score_reliability
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, count_words
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.percentile import central_interval
from clinometer.statistics.rank import spearman, spearman_difference
from clinometer.storage.resumable import Progress
from clinometer.storage.rows import is_number

LENGTH, TAU, RANDOM = "fewer words", "tau without context", "random words"
ADDED = "more words added by the versions"
#: What a row is: the score on trial or another, that of one of a run's models, or a baseline.
SCORE, MODEL, BASELINE = "score", "model", "baseline"
_JUDGED = "judged"
#: The least level of intervals that a verdict may rest on: at a low one they exclude 0 by chance.
LEAST_LEVEL = 0.95


@dataclass(frozen=True)
class ScoreRow(Plain):
    """One score against the judgements of the same statements.

    rho            Spearman's correlation; above 0, what is judged more reliable scores higher
    given_length   the same with the number of words held fixed; None for length itself
    ahead          how far the first score is ahead of this one: the difference of their
                   correlations, given length where both have one; None for the first score
    """

    name: str
    role: str
    rho: Estimate | None
    given_length: Estimate | None
    ahead: Estimate | None


@dataclass(frozen=True)
class Odds:
    """The odds of a category against the most frequent one, times `ratio` for each standard
    deviation of the score."""

    outcome: str
    ratio: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class LogisticRegression(Plain):
    """A multinomial logistic regression of judgements on a score, as in 4.4.

    chi2, df, p   likelihood ratio against a model without the score
    mcfadden      1 - log-likelihood / that without the score: 0 nothing explained, 1 all
    base          the reference category of the odds: the most frequent one
    problem       why the numbers must not be used, "" if the fit succeeded
    """

    n: int
    chi2: float
    df: int
    p: float
    mcfadden: float
    base: str
    odds: tuple[Odds, ...]
    problem: str = ""


@dataclass(frozen=True)
class Validation(Plain):
    """The rows, and what the judgements allow.

    statements     judged statements with every score
    unmatched      judged statements and first scores without the other
    right_order    of two categories: the probability that a statement judged to have enough context
                   scores higher than one that lacks it; 0.5 is chance
    outcome        statements by their median judgement (the lower of two middle ones; of words, the
                   most frequent): the response of the regression
    """

    statements: int
    unmatched: int
    annotators: int
    rows: tuple[ScoreRow, ...]
    right_order: Estimate | None
    outcome: Mapping[str, int]
    regression: LogisticRegression | None

    @property
    def passed(self) -> bool:
        """Whether the first score follows the judgements beyond length, and more than random words:
        never without these, or by intervals of a low level."""
        decisive = [self.rows[0].given_length, *(row.ahead for row in self._random)]
        return bool(self._random) and all(
            e is not None and _sure(e) and side(e) > 0 for e in decisive
        )

    @property
    def _random(self) -> list[ScoreRow]:
        return [row for row in self.rows if row.name.startswith(RANDOM)]

    @property
    def findings(self) -> list[ReliabilityFinding]:
        """The result first, then what a reader must know in addition."""
        first = self.rows[0]
        best = first.given_length or first.rho
        if best is None:
            return [
                ReliabilityFinding(
                    "no correlation", "cannot tell", words={"score": first.name}
                )
            ]
        numbers = {"rho": best, "statements": Estimate(self.statements)}
        numbers |= {"people": Estimate(self.annotators), "sign": Estimate(side(best))}
        given = (
            "with the number of words held fixed" if first.given_length else "of ranks"
        )
        words = {"score": first.name, "given": given}
        sure: Sure = "clear" if side(best) else "unclear"
        found = [
            ReliabilityFinding(
                "agreement with people", sure, numbers=numbers, words=words
            )
        ]
        if all(row.role != BASELINE or row.name == LENGTH for row in self.rows):
            return found
        if not self._random:
            return [*found, ReliabilityFinding("no control", "cannot tell")]
        if not _sure(best):
            level = {"level": Estimate(LEAST_LEVEL)}
            return [
                *found,
                ReliabilityFinding("low level", "cannot tell", numbers=level),
            ]
        return [
            *found,
            ReliabilityFinding("passed" if self.passed else "not passed", "clear"),
        ]

    def to_dict(self) -> dict[str, Any]:
        said = [f.to_dict() for f in self.findings]
        return {**super().to_dict(), "passed": self.passed, "findings": said}


def _sure(found: Estimate) -> bool:
    return found.level is not None and found.level >= LEAST_LEVEL


@dataclass(frozen=True)
class StatementScores:
    """Scores and what they are compared with: role and value by id for each name, the first one on
    trial; and the statements' texts by id."""

    columns: Mapping[str, tuple[str, pd.Series[float]]]
    texts: pd.Series[str]

    @classmethod
    def of_table(
        cls, scores: Mapping[str, object], texts: Mapping[str, str], *, name: str
    ) -> StatementScores:
        """One score by id, and the length of those with a text."""
        wrong = [item for item, value in scores.items() if not is_number(str(value))]
        if wrong:
            raise TableError(
                f"{name}: expected a number, found {scores[wrong[0]]!r} for the id {wrong[0]!r}"
            )
        score = pd.Series(dict(scores), dtype=object).astype(float)
        known = pd.Series({i: texts[i] for i in scores if i in texts}, dtype=object)
        columns = {name: (SCORE, score)}
        words = known.map(count_words).astype(float)
        if len(known) == len(score) and words.nunique() > 1:
            columns[LENGTH] = BASELINE, -words
        return cls(columns, known)

    @classmethod
    def of_runs(
        cls,
        runs: Mapping[str, ReliabilityRun],
        controls: Mapping[str, ReliabilityRun] | None = None,
    ) -> StatementScores:
        """COBIAS of runs and of each of their models, and the baselines; `controls` are the same
        runs with random words."""
        if not runs:
            raise TableError("runs: expected at least one, found none")

        def named(baseline: str, run: str) -> str:
            return baseline if len(runs) == 1 else f"{baseline} ({run})"

        frames = {name: run.statements.set_index("id") for name, run in runs.items()}
        columns: dict[str, tuple[str, pd.Series[float]]]
        columns = {name: (SCORE, frame["cobias"]) for name, frame in frames.items()}
        for name, run in runs.items():
            if len(run.record.models) > 1:
                for model, alone in run.models.set_index("id").groupby(
                    "model", sort=False
                ):
                    columns[f"{name}, {model} alone"] = MODEL, alone["cobias"]
        first = next(iter(frames.values()))
        columns[LENGTH] = BASELINE, -first["text"].map(count_words).astype(float)
        columns[TAU] = BASELINE, first["tau"]
        for name, run in runs.items():
            columns[named(ADDED, name)] = BASELINE, _added(run)
        for name, run in (controls or {}).items():
            columns[named(RANDOM, name)] = (
                BASELINE,
                run.statements.set_index("id")["cobias"],
            )
        return cls(columns, first["text"])

    def by_sentence(self) -> StatementScores:
        """The same by the words of each statement; of statements with the same words the first."""
        if self.texts.empty:
            raise TableError(
                "scores: the judgements have sentences and no ids, so the scores need "
                "sentences too: add a column sentence, or --dataset with the table that has them"
            )
        keys = self.texts.map(sentence_key).drop_duplicates()

        def keyed(values: pd.Series[Any]) -> pd.Series[Any]:
            return values.reindex(keys.index).set_axis(keys.to_numpy())

        columns = {
            name: (role, keyed(values)) for name, (role, values) in self.columns.items()
        }
        return StatementScores(columns, keyed(self.texts))


def _added(run: ReliabilityRun) -> pd.Series[float]:
    """Words that a version adds to its statement, on average."""
    words = _used(run).map(count_words).groupby(level="id").mean()
    return words - run.statements.set_index("id")["text"].map(count_words)


def _used(run: ReliabilityRun) -> pd.Series[str]:
    """The texts of the versions that count, by the id of their statement."""
    versions = run.versions.set_index("id")
    return versions.loc[versions["left_out"] == "", "text"]


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
    sign = 1.0 if _meaning(ratings, high) == HIGH_MEANS[0] else -1.0
    scores = scores.by_sentence() if ratings.by_sentence else scores
    judged = pd.Series(sign * ratings.means(), index=list(ratings.items))
    values = {name: column for name, (_, column) in scores.columns.items()}
    first = next(iter(values.values()))
    # The order of the first score: the bootstrap samples by place.
    table = pd.DataFrame(values | {_JUDGED: judged}).reindex(first.index)
    table = table.loc[np.isfinite(table.to_numpy()).all(axis=1)]
    if len(table) < 4:
        raise TableError(
            f"validate: expected at least four statements with a judgement and every score, found "
            f"{len(table)}; are the ids of both the same?"
        )
    y, trial = table[_JUDGED].to_numpy(), table.iloc[:, 0].to_numpy()
    drawn: dict[str, Any] = {"replicates": replicates, "level": level, "seed": seed}
    options = drawn | {"unit": "statements"}
    length = table[LENGTH].to_numpy() if LENGTH in table else None
    rows: list[ScoreRow] = []
    for name, (role, _) in scores.columns.items():
        x = table[name].to_numpy()
        given = None if name == LENGTH else length
        rho = spearman(x, y, **options)
        partial = None if given is None else spearman(x, y, given=given, **options)
        ahead = (
            spearman_difference(trial, x, y, given=given, **options) if rows else None
        )
        plain, beyond = (None if each is None else each.rho for each in (rho, partial))
        rows.append(ScoreRow(name, role, plain, beyond, ahead))
    places = {item: i for i, item in enumerate(ratings.items)}
    outcome = _consensus(ratings, [places[item] for item in table.index])
    found, counts = np.unique(outcome, return_counts=True)
    return Validation(
        statements=len(table),
        unmatched=len(ratings.items) + int(first.notna().sum()) - 2 * len(table),
        annotators=len(ratings.annotators),
        rows=tuple(rows),
        right_order=right_order(trial, int(sign) * outcome, **drawn)
        if len(found) == 2
        else None,
        outcome={
            ratings.categories[int(k)]: int(n)
            for k, n in zip(found, counts, strict=True)
        },
        regression=regression(
            outcome, trial, categories=ratings.categories, level=level
        )
        if len(found) > 1 and np.ptp(trial) > 0
        else None,
    )


def _meaning(ratings: Ratings, high: str | None) -> str:
    if high is not None and high not in HIGH_MEANS:
        raise SettingsError(f"high: expected {' or '.join(HIGH_MEANS)}, found {high!r}")
    if high and ratings.high and high != ratings.high:
        raise SettingsError(
            f"high: expected {ratings.high!r}, as the ratings say of a high one, found {high!r}"
        )
    if not (meaning := high or ratings.high):
        raise SettingsError(
            "high: does a high judgement (or the last of two words, as y of n and y) mean that "
            "a statement has enough context, or that context is missing? The ratings do not say: "
            f"add --high {' or --high '.join(HIGH_MEANS)}"
        )
    return meaning


def _consensus(ratings: Ratings, chosen: list[int]) -> IntArray:
    """[n] one category per item: the median of numbers, the most frequent (or first) of words."""
    if not ratings.numeric:
        return np.asarray(ratings.counts[chosen].argmax(axis=1))
    codes = np.where(ratings.codes[chosen] < 0, np.nan, ratings.codes[chosen])
    return np.nanquantile(codes, 0.5, axis=1, method="lower").astype(np.int64)


def right_order(
    score: FloatArray,
    judged: IntArray,
    *,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The probability that one of the statements judged higher scores higher than one of the
    others, ties counting half; the interval is a bootstrap over statements within both.

    >>> right_order(np.array([1.0, 2.0, 3.0, 3.0]), np.array([0, 0, 1, 0]), replicates=0).value
    0.8333333333333334
    """
    upper, lower = score[judged == judged.max()], score[judged == judged.min()]
    wins = (upper[:, None] > lower) + 0.5 * (upper[:, None] == lower)
    value = float(wins.mean())
    if not replicates:
        return Estimate(value)
    rng = np.random.default_rng(seed)
    of = [
        rng.multinomial(n, np.full(n, 1 / n), size=replicates) / n for n in wins.shape
    ]
    low, high = central_interval(
        np.einsum("bi,ij,bj->b", of[0], wins, of[1]), level
    ).tolist()
    return Estimate(
        value, min(low, value), max(high, value), level, "bootstrap over statements"
    )


def regression(
    outcome: Sequence[int] | IntArray,
    score: FloatArray,
    *,
    categories: Sequence[str],
    level: float = 0.95,
) -> LogisticRegression:
    """Fit categories (indices into `categories`) on a score, scaled to standard deviation 1.
    Requires two categories that occur, and a score that varies."""
    require("a regression", "statsmodels")
    from statsmodels.discrete.discrete_model import MNLogit
    from statsmodels.tools.sm_exceptions import (
        ConvergenceWarning,
        PerfectSeparationWarning,
    )

    codes, y, counts = np.unique(
        np.asarray(outcome), return_inverse=True, return_counts=True
    )
    order = np.argsort(np.arange(len(codes)) != counts.argmax(), kind="stable")
    names = [
        categories[int(k)] for k in codes[order]
    ]  # odds against a rare one are noisy
    design = np.column_stack(
        [np.ones(len(y)), (score - score.mean()) / score.std(ddof=1)]
    )
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        fit = MNLogit(np.argsort(order)[y], design).fit(
            method="newton", maxiter=200, disp=False
        )
        ends = np.asarray(fit.conf_int(1 - level)).reshape(len(names) - 1, 2, 2)[:, 1]
        slopes, p = np.asarray(fit.params)[1], np.asarray(fit.pvalues)[1]
    problem = ""
    if any(issubclass(w.category, ConvergenceWarning) for w in raised):
        problem = "the fit did not converge"
    apart = any(issubclass(w.category, PerfectSeparationWarning) for w in raised)
    if apart or not fit.llf < -1e-3:
        problem = "the score separates the categories completely"
    with np.errstate(over="ignore"):
        ratios, ends = np.exp(slopes), np.exp(ends)
    return LogisticRegression(
        n=len(y),
        chi2=float(fit.llr),
        df=int(fit.df_model),
        p=float(fit.llr_pvalue),
        mcfadden=float(fit.prsquared),
        base=names[0],
        odds=tuple(
            Odds(name, *map(float, numbers))
            for name, *numbers in zip(
                names[1:], ratios, ends[:, 0], ends[:, 1], p, strict=True
            )
        ),
        problem=problem,
    )


_SIGNS = ".,;:!?\"'()[]“”’…-"


def random_control(
    run: ReliabilityRun, *, seed: int = 0, progress: Progress | None = None
) -> ReliabilityRun:
    """The baseline that context has to beat: the run again with random words for its context,
    scored by the same models and kept in its folder, if it has one."""
    kept = {f.name for f in fields(ReliabilitySettings)} - {"load"}
    try:
        settings = ReliabilitySettings(
            **{k: v for k, v in run.record.settings.items() if k in kept}
        )
    except (TypeError, SettingsError) as error:
        raise SettingsError(
            f"{run.path}: its settings cannot be used again: {error}"
        ) from error
    frame = run.statements
    used = _used(run).groupby(level="id").agg(list)
    some = [used.get(i, []) for i in frame["id"]]
    versions = random_words(frame["text"].tolist(), some, seed=seed)
    statements = [
        Statement(
            row["id"],
            row["text"],
            tuple(t for t in (row["target"] or "").split("; ") if t),
        )
        for row in frame.to_dict(orient="records")
    ]
    return score_reliability(
        statements,
        dict(zip(frame["id"], versions, strict=True)),
        models=[m.id for m in run.record.models],
        out=None if run.path is None else run.path / RANDOM_FOLDER,
        settings=settings,
        renew=True,
        progress=progress,
    )


def random_words(
    texts: Sequence[str], versions: Sequence[Sequence[str]], *, seed: int = 0
) -> list[tuple[str, ...]]:
    """The versions with every word that they add to their statement replaced by a random word of
    all these texts: as much added text, at the same positions, that means nothing.

    >>> random_words(["Women sing."], [["Women often sing.", "Women sing today."]])
    [('Women today sing.', 'Women sing sing.')]
    """
    rng = np.random.default_rng(seed)
    every = (
        word for some in [texts, *versions] for text in some for word in text.split()
    )
    pool = sorted({bare for word in every if (bare := word.strip(_SIGNS)).isalpha()})
    found = []
    for text, some in zip(texts, versions, strict=True):
        own = [_bare(word) for word in text.split()]
        made = []
        for version in some:
            words = version.split()
            matcher = SequenceMatcher(
                None, own, [_bare(w) for w in words], autojunk=False
            )
            for op, _, _, start, stop in matcher.get_opcodes():
                if op in ("insert", "replace"):
                    for k in range(start, stop):
                        bare, other = words[k].strip(_SIGNS), str(rng.choice(pool))
                        words[k] = (
                            words[k].replace(bare, other, 1) if bare else words[k]
                        )
            made.append(" ".join(words))
        found.append(tuple(made))
    return found


def _bare(word: str) -> str:
    return word.strip(_SIGNS).casefold()
