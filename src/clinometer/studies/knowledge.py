"""E.1, E.2: facts instead of stereotypes; how much is known, and the cost of inconsistency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from clinometer.contexts import ContextSet
from clinometer.errors import TopicError, first_problem
from clinometer.measure import Preferences, knowledge
from clinometer.report import Figure, Table
from clinometer.report.charts.points import Panel, points_chart
from clinometer.report.figure import chart
from clinometer.statistics.intervals.percentile import central_interval
from clinometer.storage.untrusted import MOST_RECORD, parse_toml, read_text
from clinometer.studies.framework import DATA, Findings, Results
from clinometer.topics import Group, Topic


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    answer: str
    distractors: tuple[str, ...] = ()


class Relation(BaseModel):
    """Questions of one kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    title: str = ""
    paraphrases: tuple[str, ...] = Field(min_length=1)

    facts: dict[str, str | _Answer] = Field(min_length=2)
    """Subject -> the right answer, or that with wrong ones of its own; the other subjects' answers
    count as well."""

    @property
    def answers(self) -> dict[str, str]:
        """Return the right answer about each subject."""
        return {
            subject: fact if isinstance(fact, str) else fact.answer
            for subject, fact in self.facts.items()
        }

    @property
    def distractors(self) -> dict[str, tuple[str, ...]]:
        """Return the wrong answers of the subjects that have some of their own."""
        return {
            subject: fact.distractors
            for subject, fact in self.facts.items()
            if isinstance(fact, _Answer)
        }

    @property
    def topic(self) -> Topic:
        """Return the topic whose groups are the subjects and whose categories are the answers."""
        words = dict.fromkeys(self.answers.values())
        for distractors in self.distractors.values():
            words |= dict.fromkeys(distractors)
        return Topic(
            self.name,
            groups=tuple(Group(subject) for subject in self.answers),
            attributes={word: (word,) for word in words},
            title=self.title or self.name,
        )

    @property
    def contexts(self) -> ContextSet:
        """Return the paraphrases, all of one weight."""
        return ContextSet(self.name, self.paraphrases, [1.0] * len(self.paraphrases))

    def offered(self, preferences: Preferences) -> NDArray[np.float64]:
        """Return p [X,C,Y] among the answers that each subject was offered; 0 for all others.

        Distractors of one subject are not answers of another; p is renormalised over the rest.
        """
        p = preferences.values * self._is_offered(preferences)[:, None, :]
        total = p.sum(axis=2, keepdims=True)
        return np.asarray(p / np.where(total > 0, total, np.nan))

    def _is_offered(self, preferences: Preferences) -> NDArray[np.bool_]:
        """Return which answers each subject was offered [X,Y]: all that are right for some subject,
        and its own distractors."""
        right = set(self.answers.values())
        rows = []
        for subject in preferences.groups:
            offered = right.union(self.distractors.get(subject, ()))
            rows.append([word in offered for word in preferences.categories])
        return np.array(rows)


def read_facts(path: str | Path = DATA / "facts.toml") -> tuple[Relation, ...]:
    """Read capitals, authors and elements; or your own file, in the same format.

    >>> [(r.name, len(r.answers)) for r in read_facts()]
    [('capitals', 12), ('authors', 10), ('elements', 12)]
    """
    where = f"facts {str(path)!r}"
    text = read_text(
        Path(path), shown=where, kind=".toml", error=TopicError, most=MOST_RECORD
    )
    try:
        relations = TypeAdapter(dict[str, Relation]).validate_python(parse_toml(text))
    except ValueError as error:
        why = first_problem(error) if isinstance(error, ValidationError) else error
        raise TopicError(f"{where}: {why}") from error
    if not relations:
        raise TopicError(f"{where}: expected at least one relation, found none")
    return tuple(
        relation.model_copy(update={"name": name})
        for name, relation in relations.items()
    )


_PARTS = ("knowledge", "deterministic", "confidence_loss", "accuracy")
"""The columns of facts whose means have intervals."""


def knowledge_findings(
    results: Results,
    relations: Sequence[Relation],
    *,
    exponent: float = 0.5,
    seed: int = 0,
) -> Findings:
    """Return knowledge, deterministic knowledge and confidence of each model and relation."""
    by_name = {relation.name: relation for relation in relations}
    rows = []
    facts = []
    for planned, run in results:
        relation = by_name[planned.role]
        scores = score_facts(run.preferences, relation, exponent=exponent)
        about = {"name": planned.label, "relation": relation.name}
        facts.append(scores.assign(**about)[[*about, *scores.columns]])
        row: dict[str, Any] = {
            **about,
            "facts": len(scores),
            "paraphrases": len(relation.paraphrases),
            "chance": float(scores["chance"].mean()),
            **_means(scores, seed=seed),
        }
        rows.append(row)
    table = pd.DataFrame(rows)
    return Findings(
        "knowledge",
        [
            Table(
                "knowledge",
                "Knowledge by model and relation",
                table,
                hidden=("paraphrases",),
            ),
            Table("knowledge-facts", "Every fact", pd.concat(facts, ignore_index=True)),
        ],
        [_knowledge_figure(table)],
        [run for _, run in results],
    )


def _knowledge_figure(table: pd.DataFrame) -> Figure:
    """Return a panel for each relation with the knowledge of each model."""
    texts = [
        f"{row['knowledge']:.3f} of {row['deterministic']:.3f}"
        for row in table.to_dict("records")
    ]
    columns = {
        "knowledge": "value",
        "knowledge_low": "low",
        "knowledge_high": "high",
        "relation": "panel",
        "chance": "chance_low",
        "deterministic": "chance_high",
    }
    points = table.rename(columns=columns).assign(text=texts)
    panels = [Panel(name, end=1.0) for name in dict.fromkeys(points["panel"])]
    return chart(
        "knowledge",
        "Knowledge, and the cost of inconsistency",
        "Dot: knowledge; band: interval over facts; grey: from a guess to what there would "
        "be without inconsistency over paraphrases.",
        points,
        "{name}, {panel}: {text}",
        points_chart,
        panels=panels,
    )


def score_facts(
    preferences: Preferences, relation: Relation, *, exponent: float = 0.5
) -> pd.DataFrame:
    """Return one row per subject: knowledge 1 and a loss of 0 if the right answer is certain in
    every paraphrase."""
    offered = relation.offered(preferences)
    answers = [relation.answers[subject] for subject in preferences.groups]
    right = np.array([preferences.categories.index(answer) for answer in answers])
    p = np.take_along_axis(offered, right[:, None, None], axis=2)[..., 0]
    report = knowledge(
        p,
        context_weights=preferences.context_weights,
        exponent=exponent,
        mask=~np.isnan(p),
        groups=preferences.groups,
    )
    weights = preferences.context_weights / preferences.context_weights.sum()
    most_probable = np.nan_to_num(offered, nan=-1.0).argmax(axis=2)
    is_right = most_probable == right[:, None]
    return pd.DataFrame(
        {
            "group": preferences.groups,
            "answer": answers,
            "knowledge": report.knowledge,
            "deterministic": report.deterministic,
            "confidence_loss": report.confidence_gap,
            "accuracy": is_right @ weights,
            "chance": _knowledge_of_guesses(relation, preferences.groups, exponent),
        }
    )


def _knowledge_of_guesses(
    relation: Relation, subjects: Sequence[str], exponent: float
) -> list[float]:
    """Return what a model that guesses among the offered answers knows of each subject."""
    right = set(relation.answers.values())
    chances = []
    for subject in subjects:
        offered = right.union(relation.distractors.get(subject, ()))
        chances.append((1 / len(offered)) ** exponent)
    return chances


def _means(scores: pd.DataFrame, *, seed: int) -> dict[str, float]:
    """Return means over the facts, with percentiles of resampled facts."""
    values = scores[list(_PARTS)].to_numpy(dtype=float)
    values = values[~np.isnan(values).any(axis=1)]
    picks = np.random.default_rng(seed).integers(len(values), size=(2000, len(values)))
    lows, highs = central_interval(values[picks].mean(axis=1), 0.95)
    means = {}
    for i, part in enumerate(_PARTS):
        means[part] = float(values[:, i].mean())
        means[f"{part}_low"] = float(lows[i])
        means[f"{part}_high"] = float(highs[i])
    return means
