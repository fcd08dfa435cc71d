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
from clinometer.report import Table, charts
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
    """Questions of one kind.

    facts   subject -> the right answer, or that with wrong ones of its own; the other subjects'
            answers count as well
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = ""
    title: str = ""
    paraphrases: tuple[str, ...] = Field(min_length=1)
    facts: dict[str, str | _Answer] = Field(min_length=2)

    @property
    def answers(self) -> dict[str, str]:
        return {s: a if isinstance(a, str) else a.answer for s, a in self.facts.items()}

    @property
    def distractors(self) -> dict[str, tuple[str, ...]]:
        return {
            s: a.distractors for s, a in self.facts.items() if isinstance(a, _Answer)
        }

    @property
    def topic(self) -> Topic:
        words = dict.fromkeys(self.answers.values())
        words |= dict.fromkeys(w for own in self.distractors.values() for w in own)
        return Topic(
            self.name,
            groups=tuple(Group(subject) for subject in self.answers),
            attributes={w: (w,) for w in words},
            title=self.title or self.name,
        )

    @property
    def contexts(self) -> ContextSet:
        return ContextSet(self.name, self.paraphrases, [1.0] * len(self.paraphrases))

    def offered(self, preferences: Preferences) -> NDArray[np.float64]:
        """[X,C,Y]: p among the answers that each subject was offered; 0 for all others.

        Distractors of one subject are not answers of another; p is renormalised over the rest.
        """
        own = {w for words in self.distractors.values() for w in words}
        own -= set(self.answers.values())
        words, mine = preferences.categories, self.distractors
        kept = np.array(
            [
                [w not in own or w in mine.get(g, ()) for w in words]
                for g in preferences.groups
            ]
        )
        p = preferences.values * kept[:, None, :]
        total = p.sum(axis=2, keepdims=True)
        return np.asarray(p / np.where(total > 0, total, np.nan))


def read_facts(path: str | Path = DATA / "facts.toml") -> tuple[Relation, ...]:
    """Capitals, authors and elements; or your own file, in the same format.

    >>> [(r.name, len(r.answers)) for r in read_facts()]
    [('capitals', 12), ('authors', 10), ('elements', 12)]
    """
    where = f"facts {str(path)!r}"
    text = read_text(
        Path(path), shown=where, kind=".toml", error=TopicError, most=MOST_RECORD
    )
    try:
        plain = TypeAdapter(dict[str, Relation]).validate_python(parse_toml(text))
    except ValueError as error:
        why = first_problem(error) if isinstance(error, ValidationError) else error
        raise TopicError(f"{where}: {why}") from error
    if not plain:
        raise TopicError(f"{where}: expected at least one relation, found none")
    return tuple(each.model_copy(update={"name": name}) for name, each in plain.items())


_PARTS = ("knowledge", "deterministic", "confidence_loss", "accuracy")


def knowledge_findings(
    results: Results,
    relations: Sequence[Relation],
    *,
    exponent: float = 0.5,
    seed: int = 0,
) -> Findings:
    """Knowledge, deterministic knowledge and confidence of each model and relation."""
    by_name = {r.name: r for r in relations}
    rows, facts = [], []
    for planned, run in results:
        relation = by_name[planned.role]
        scores = score_facts(run.preferences, relation, exponent=exponent)
        about = {"name": planned.label, "relation": relation.name}
        facts.append(scores.assign(**about)[[*about, *scores.columns]])
        row = {**about, "facts": len(scores), "paraphrases": len(relation.paraphrases)}
        row["chance"] = float(scores["chance"].mean())
        rows.append(row | _means(scores, seed=seed))
    table = pd.DataFrame(rows)
    columns = {"knowledge": "value", "knowledge_low": "low", "knowledge_high": "high"}
    columns |= {
        "relation": "panel",
        "chance": "chance_low",
        "deterministic": "chance_high",
    }
    shown = table.rename(columns=columns).assign(
        text=[f"{r['knowledge']:.3f} of {r['deterministic']:.3f}" for r in rows]
    )
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
        [
            chart(
                "knowledge",
                "Knowledge, and the cost of inconsistency",
                "Dot: knowledge; band: interval over facts; grey: from a guess to what there would "
                "be without inconsistency over paraphrases.",
                shown,
                "{name}, {panel}: {text}",
                charts.points,
                panels=[
                    charts.Panel(name, end=1.0)
                    for name in dict.fromkeys(shown["panel"])
                ],
            )
        ],
        [run for _, run in results],
    )


def score_facts(
    preferences: Preferences, relation: Relation, *, exponent: float = 0.5
) -> pd.DataFrame:
    """One row per subject: 1 and a loss of 0 if the right answer is certain in every paraphrase."""
    offered = relation.offered(preferences)
    answers = [relation.answers[g] for g in preferences.groups]
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
    first = np.nan_to_num(offered, nan=-1.0).argmax(axis=2) == right[:, None]
    chances = [
        len(set(relation.answers.values()) | set(relation.distractors.get(g, ())))
        for g in preferences.groups
    ]
    return pd.DataFrame(
        {
            "group": preferences.groups,
            "answer": answers,
            "knowledge": report.knowledge,
            "deterministic": report.deterministic,
            "confidence_loss": report.confidence_gap,
            "accuracy": first @ weights,
            "chance": [(1 / n) ** exponent for n in chances],
        }
    )


def _means(scores: pd.DataFrame, *, seed: int) -> dict[str, Any]:
    """Means over the facts, with percentiles of resampled facts."""
    values = scores[list(_PARTS)].to_numpy(dtype=float)
    values = values[~np.isnan(values).any(axis=1)]
    picks = np.random.default_rng(seed).integers(len(values), size=(2000, len(values)))
    ends = central_interval(values[picks].mean(axis=1), 0.95)
    row: dict[str, Any] = {}
    for i, part in enumerate(_PARTS):
        row[part] = float(values[:, i].mean())
        row[f"{part}_low"], row[f"{part}_high"] = (float(e) for e in ends[:, i])
    return row
