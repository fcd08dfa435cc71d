"""Does a score say what people say? Stability in runs, and what it has to beat, against ratings.

Higher means more reliable throughout: the score is the stability, 1 - COBIAS, and ratings that are
high where context is missing are turned round. A score has to beat what is cheap: the length of a
statement, how many words its versions add, how surprising it is without any context (tau), and the
same score with random words in the place of context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.text import Plain
from clinometer.errors import SettingsError, TableError
from clinometer.reliability.folder import RANDOM_FOLDER
from clinometer.reliability.people.ratings import HIGH_MEANS, Ratings
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.scoring import ReliabilitySettings, score_reliability
from clinometer.reliability.statement import Statement, VariantSet, count_words
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.rank import spearman, spearman_difference
from clinometer.storage.resumable import Progress

LENGTH, TAU, RANDOM = "number of words", "less tau without context", "random words"
ADDED = "fewer words added by the versions"
#: What a row is: the score of a run, of one of its models, or a baseline.
SCORE, MODEL, BASELINE = "score", "model", "baseline"
_RATING = "mean rating"
#: The least level of intervals that a verdict may rest on: at a low one they exclude 0 by chance.
LEAST_LEVEL = 0.95


@dataclass(frozen=True)
class TruthRow(Plain):
    """One score against the mean rating of the same statements.

    rho            Spearman's correlation; above 0, what is rated more reliable scores higher
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
class TruthTest(Plain):
    """The rows, and what the ratings allow.

    statements     rated statements that every run has scored
    ceiling        the correlation that a perfect score would have with the mean of these ratings,
                   by how little one rater says of another; None with one rater
    raters         mean correlation of two raters
    """

    statements: int
    annotators: int
    raters: float | None
    ceiling: float | None
    rows: tuple[TruthRow, ...]

    @property
    def passed(self) -> bool:
        """Whether the first score follows the ratings beyond length, and more than random words:
        never without these, or by intervals of a low level."""
        first = self.rows[0]
        random = [row for row in self.rows if row.name.startswith(RANDOM)]
        decisive = [first.given_length, *(row.ahead for row in random)]
        return bool(random) and all(one is not None and _above(one) for one in decisive)

    @property
    def notes(self) -> list[str]:
        """What a reader must know in addition to the numbers."""
        found = []
        if self.ceiling is not None:
            found.append(
                f"Two of these people agree to rho = {self.raters:.2f}, so a perfect score would "
                f"reach about {self.ceiling:.2f} with their mean."
            )
            above = [r.name for r in self.rows if r.rho and r.rho.value > self.ceiling]
            if above:
                found.append(
                    f"{above[0]} lies above that: these ratings may not be independent of it."
                )
        level = next((r.rho.level for r in self.rows if r.rho and r.rho.level), None)
        if not any(row.name.startswith(RANDOM) for row in self.rows):
            found.append("No verdict: the score was not compared with random words.")
        elif level is not None and level < LEAST_LEVEL:
            found.append(f"No verdict: it takes intervals of {LEAST_LEVEL:.0%} or more.")
        else:
            found.append(self._verdict())
        return found

    def _verdict(self) -> str:
        return (
            "The first score passes: it follows the ratings beyond length, and more than random "
            "words do."
            if self.passed
            else "The first score does not pass: its correlation given length is not above 0, or "
            "not above that of random words."
        )

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "passed": self.passed, "notes": self.notes}


def _above(found: Estimate) -> bool:
    sure = found.level is not None and found.level >= LEAST_LEVEL
    return sure and found.low is not None and found.low > 0


def truth_test(
    ratings: Ratings,
    runs: Mapping[str, ReliabilityRun],
    *,
    controls: Mapping[str, ReliabilityRun] | None = None,
    high: str | None = None,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> TruthTest:
    """Compare runs with ratings of the same statements (by id); `controls` are the same runs with
    random words. Every row has the same statements, so that rows can be compared.

    `high` says what a high rating means, "enough" context or "missing" context; None where the
    ratings say so themselves.
    """
    ratings.need_numbers("truth test")
    sign = 1.0 if _meaning(ratings, high) == HIGH_MEANS[0] else -1.0
    if not runs:
        raise TableError("runs: expected at least one, found none")
    columns = _columns(runs, controls or {})
    means = pd.Series(sign * ratings.means(), index=list(ratings.items))
    values = {name: column for name, (_, column) in columns.items()}
    # The order of the first run: the bootstrap samples by place.
    table = pd.DataFrame(values | {_RATING: means}).reindex(next(iter(values.values())).index)
    table = table.loc[np.isfinite(table.to_numpy()).all(axis=1)]
    if len(table) < 4:
        raise TableError(
            f"truth test: expected at least four statements with a rating and a score in every "
            f"run, found {len(table)}; are the ids of both the same?"
        )
    y, length = table[_RATING].to_numpy(), table[LENGTH].to_numpy()
    options: dict[str, Any] = {
        "replicates": replicates,
        "level": level,
        "seed": seed,
        "unit": "statements",
    }
    first = table.iloc[:, 0].to_numpy()
    rows: list[TruthRow] = []
    for name, (role, _) in columns.items():
        x = table[name].to_numpy()
        given = None if name == LENGTH else length
        rho = spearman(x, y, **options)
        partial = None if given is None else spearman(x, y, given=given, **options)
        rows.append(
            TruthRow(
                name,
                role,
                None if rho is None else rho.rho,
                None if partial is None else partial.rho,
                spearman_difference(first, x, y, given=given, **options) if rows else None,
            )
        )
    raters = _raters(ratings)
    m = len(ratings.annotators)
    ceiling = None
    if raters is not None and raters > 0:
        ceiling = float(np.sqrt(m * raters / (1 + (m - 1) * raters)))
    return TruthTest(len(table), m, raters, ceiling, tuple(rows))


def _meaning(ratings: Ratings, high: str | None) -> str:
    if high is not None and high not in HIGH_MEANS:
        raise SettingsError(f"high: expected {' or '.join(HIGH_MEANS)}, found {high!r}")
    if high and ratings.high and high != ratings.high:
        raise SettingsError(
            f"high: expected {ratings.high!r}, as the ratings say of a high one, found {high!r}"
        )
    if not (meaning := high or ratings.high):
        raise SettingsError(
            "high: does a high rating mean that a statement has enough context, or that context is "
            f"missing? The ratings do not say: add --high {' or --high '.join(HIGH_MEANS)}"
        )
    return meaning


def _columns(
    runs: Mapping[str, ReliabilityRun], controls: Mapping[str, ReliabilityRun]
) -> dict[str, tuple[str, pd.Series[float]]]:
    """Name of a row -> its role, and its value for each statement by id."""

    def named(baseline: str, run: str) -> str:
        return baseline if len(runs) == 1 else f"{baseline} ({run})"

    frames = {name: run.statements.set_index("id") for name, run in runs.items()}
    columns: dict[str, tuple[str, pd.Series[float]]]
    columns = {name: (SCORE, 1 - frame["cobias"]) for name, frame in frames.items()}
    for name, run in runs.items():
        if len(run.record.models) > 1:
            for model, alone in run.models.set_index("id").groupby("model", sort=False):
                columns[f"{name}, {model} alone"] = MODEL, 1 - alone["cobias"]
    first = next(iter(frames.values()))
    columns[LENGTH] = BASELINE, first["text"].map(count_words).astype(float)
    columns[TAU] = BASELINE, -first["tau"]
    for name, run in runs.items():
        columns[named(ADDED, name)] = BASELINE, -_added(run)
    for name, run in controls.items():
        columns[named(RANDOM, name)] = BASELINE, 1 - run.statements.set_index("id")["cobias"]
    return columns


def _added(run: ReliabilityRun) -> pd.Series[float]:
    """Words that a version adds to its statement, on average."""
    used = run.versions[run.versions["left_out"] == ""]
    words = used["text"].map(count_words).groupby(used["id"]).mean()
    return words - run.statements.set_index("id")["text"].map(count_words)


def _raters(ratings: Ratings) -> float | None:
    """Mean Spearman correlation of two annotators over the items both rated."""
    values = np.where(ratings.codes >= 0, ratings.values[ratings.codes], np.nan)
    found = []
    for a, b in combinations(range(values.shape[1]), 2):
        both = np.isfinite(values[:, a]) & np.isfinite(values[:, b])
        rho = spearman(values[both, a], values[both, b], replicates=0)
        if rho is not None:
            found.append(rho.rho.value)
    return float(np.mean(found)) if found else None


_SIGNS = ".,;:!?\"'()[]“”’…-"


def random_control(
    run: ReliabilityRun, *, seed: int = 0, progress: Progress | None = None
) -> ReliabilityRun:
    """The baseline that context has to beat: the run again with random words for its context,
    scored by the same models and kept in its folder, if it has one."""
    frame = run.statements
    versions = random_words(frame["text"].tolist(), run.versions_used(), seed=seed)
    statements = [
        Statement(row["id"], row["text"], tuple(t for t in (row["target"] or "").split("; ") if t))
        for row in frame.to_dict(orient="records")
    ]
    return score_reliability(
        statements,
        VariantSet(dict(zip(frame["id"], versions, strict=True)), "random words"),
        models=[m.id for m in run.record.models],
        out=None if run.path is None else run.path / RANDOM_FOLDER,
        settings=_settings(run),
        renew=True,
        progress=progress,
    )


def _settings(run: ReliabilityRun) -> ReliabilitySettings:
    """Scored as the run was."""
    kept = {f.name for f in fields(ReliabilitySettings)} - {"load", "precision"}
    try:
        return ReliabilitySettings(**{k: v for k, v in run.record.settings.items() if k in kept})
    except (TypeError, SettingsError) as error:
        raise SettingsError(f"{run.path}: its settings cannot be used again: {error}") from error


def random_words(
    texts: Sequence[str], versions: Sequence[Sequence[str]], *, seed: int = 0
) -> list[tuple[str, ...]]:
    """The versions with every word that they add to their statement replaced by a random word of
    all these texts: as much added text, at the same positions, that means nothing.

    >>> random_words(["Women sing."], [["Women often sing.", "Women sing today."]])
    [('Women today sing.', 'Women sing sing.')]
    """
    rng = np.random.default_rng(seed)
    every = (word for some in [texts, *versions] for text in some for word in text.split())
    pool = sorted({bare for word in every if (bare := word.strip(_SIGNS)).isalpha()})
    found = []
    for text, some in zip(texts, versions, strict=True):
        own = [_bare(word) for word in text.split()]
        made = []
        for version in some:
            words = version.split()
            matcher = SequenceMatcher(None, own, [_bare(w) for w in words], autojunk=False)
            for op, _, _, start, stop in matcher.get_opcodes():
                if op in ("insert", "replace"):
                    for k in range(start, stop):
                        bare, other = words[k].strip(_SIGNS), str(rng.choice(pool))
                        words[k] = words[k].replace(bare, other, 1) if bare else words[k]
            made.append(" ".join(words))
        found.append(tuple(made))
    return found


def _bare(word: str) -> str:
    return word.strip(_SIGNS).casefold()
