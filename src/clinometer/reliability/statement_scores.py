"""Scores of statements that are compared with judgements, and the baselines that they must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from clinometer.errors import TableError
from clinometer.reliability.ratings import sentence_key
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.statement import count_words
from clinometer.storage.rows import is_number

LENGTH = "fewer words"
TAU = "tau without context"
RANDOM = "random words"
ADDED = "more words added by the versions"

SCORE = "score"
"""The role of the score on trial, and of further ones."""

MODEL = "model"
"""The role of the score of one of a run's models."""

BASELINE = "baseline"
"""The role of what a score has to beat."""


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """A score by the ids of statements, and its role in the comparison."""

    role: str
    values: pd.Series[float]


@dataclass(frozen=True, eq=False)
class StatementScores:
    """Scores and what they are compared with."""

    columns: Mapping[str, ScoreColumn]
    """The scores by name, the one on trial first."""

    texts: pd.Series[str]
    """The statements' texts by id."""

    @classmethod
    def of_table(
        cls, scores: Mapping[str, object], texts: Mapping[str, str], *, name: str
    ) -> StatementScores:
        """Return one score by id, and the length of the statements if all have a text."""
        for item, value in scores.items():
            if not is_number(str(value)):
                raise TableError(
                    f"{name}: expected a number, found {value!r} for the id {item!r}"
                )
        score = pd.Series(dict(scores), dtype=object).astype(float)
        with_text = {item: texts[item] for item in scores if item in texts}
        text_series = pd.Series(with_text, dtype=object)
        columns = {name: ScoreColumn(SCORE, score)}
        words = text_series.map(count_words).astype(float)
        if len(with_text) == len(scores) and words.nunique() > 1:
            columns[LENGTH] = ScoreColumn(BASELINE, -words)
        return cls(columns, text_series)

    @classmethod
    def of_runs(
        cls,
        runs: Mapping[str, ReliabilityRun],
        controls: Mapping[str, ReliabilityRun] | None = None,
    ) -> StatementScores:
        """Return COBIAS of runs and of each of their models, and the baselines; `controls` are the
        same runs with random words."""
        if not runs:
            raise TableError("runs: expected at least one, found none")
        columns = {}
        for name, run in runs.items():
            columns[name] = ScoreColumn(SCORE, _by_id(run)["cobias"])
        for name, run in runs.items():
            if len(run.record.models) > 1:
                rows = run.models.set_index("id")
                for model, of_model in rows.groupby("model", sort=False):
                    column = ScoreColumn(MODEL, of_model["cobias"])
                    columns[f"{name}, {model} alone"] = column
        first = _by_id(next(iter(runs.values())))
        words = first["text"].map(count_words).astype(float)
        columns[LENGTH] = ScoreColumn(BASELINE, -words)
        columns[TAU] = ScoreColumn(BASELINE, first["tau"])
        baselines = [(ADDED, name, _added_words(run)) for name, run in runs.items()]
        for name, run in (controls or {}).items():
            baselines.append((RANDOM, name, _by_id(run)["cobias"]))
        for baseline, name, values in baselines:
            title = baseline if len(runs) == 1 else f"{baseline} ({name})"
            columns[title] = ScoreColumn(BASELINE, values)
        return cls(columns, first["text"])

    def by_sentence(self) -> StatementScores:
        """Return the scores by the words of each statement; of statements with the same words those
        of the first."""
        if self.texts.empty:
            raise TableError(
                "scores: the judgements have sentences and no ids, so the scores need "
                "sentences too: add a column sentence, or --dataset with the table that has them"
            )
        keys = self.texts.map(sentence_key).drop_duplicates()

        def keyed(values: pd.Series[Any]) -> pd.Series[Any]:
            return values.reindex(keys.index).set_axis(keys.to_numpy())

        columns = {}
        for name, column in self.columns.items():
            columns[name] = ScoreColumn(column.role, keyed(column.values))
        return StatementScores(columns, keyed(self.texts))


def _by_id(run: ReliabilityRun) -> pd.DataFrame:
    return run.statements.set_index("id")


def _added_words(run: ReliabilityRun) -> pd.Series[float]:
    """Return the words that a version adds to its statement, on average."""
    words = run.counted_versions.explode().map(count_words).groupby(level="id").mean()
    return words - _by_id(run)["text"].map(count_words)
