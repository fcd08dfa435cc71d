"""E.1, E.2: facts instead of stereotypes; how much is known, and the cost of inconsistency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.measure import Preferences, knowledge
from clinometer.report import Figure, Table, charts
from clinometer.runs import AuditSettings, Run
from clinometer.statistics.percentile import central_interval
from clinometer.studies.extensions.facts import Relation
from clinometer.studies.framework.frame import Findings
from clinometer.studies.framework.plan import Ask, Plan, asks_of

Floats = NDArray[np.float64]
_PARTS = ("knowledge", "deterministic", "confidence_loss", "accuracy")


def knowledge_plan(
    models: Sequence[str], relations: Sequence[Relation], *, settings: AuditSettings
) -> Plan:
    """Every model on every relation."""
    asks = [
        a for r in relations for a in asks_of(models, r.topic, r.contexts, settings, role=r.name)
    ]
    return Plan("knowledge", tuple(asks))


def knowledge_findings(
    asked: list[tuple[Ask, Run]],
    relations: Sequence[Relation],
    *,
    exponent: float = 0.5,
    level: float = 0.95,
    seed: int = 0,
) -> Findings:
    """Knowledge, deterministic knowledge and confidence of each model and relation."""
    known = {r.name: r for r in relations}
    rows, facts = [], []
    for ask, run in asked:
        relation = known[ask.role]
        found = score_facts(run.preferences, relation, exponent=exponent)
        facts.append(found.assign(name=ask.label, relation=relation.name))
        row = {"name": ask.label, "relation": relation.name, "facts": len(found)}
        row["paraphrases"] = len(relation.paraphrases)
        row["chance"] = float(found["chance"].mean())
        rows.append(row | _means(found, level=level, seed=seed))
    table = pd.DataFrame(rows)
    each = pd.concat(facts, ignore_index=True)
    each = each[["name", "relation", *[c for c in each if c not in ("name", "relation")]]]
    return Findings(
        "knowledge",
        "Knowledge and confidence (E.1, E.2)",
        (
            *[_sentence(row) for row in rows],
            f"J(p) = p^{exponent:g} of the probability of the right answer among those offered. "
            "Knowledge is its mean over paraphrases; deterministic knowledge is J of the mean; "
            "their difference is the cost of inconsistency. Chance is the same J for a guess. "
            "Intervals resample the facts; the paraphrases are fixed.",
        ),
        (
            Table(
                "knowledge",
                "Knowledge by model and relation",
                table,
                hidden=("facts", "paraphrases", "chance"),
            ),
            Table("knowledge-facts", "Every fact", each),
        ),
        (_figure(table),),
        tuple(run for _, run in asked),
    )


def score_facts(
    preferences: Preferences, relation: Relation, *, exponent: float = 0.5
) -> pd.DataFrame:
    """One row per subject: 1 and a loss of 0 if the right answer is certain in every paraphrase."""
    offered, right = relation.offered(preferences), relation.right(preferences)
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
            "answer": [relation.answers[g] for g in preferences.groups],
            "knowledge": report.knowledge,
            "deterministic": report.deterministic,
            "confidence_loss": report.confidence_gap,
            "accuracy": first @ weights,
            "chance": [(1 / n) ** exponent for n in chances],
        }
    )


def _means(found: pd.DataFrame, *, level: float, seed: int) -> dict[str, Any]:
    """Means over the facts, with percentiles of resampled facts."""
    values = found[list(_PARTS)].to_numpy(dtype=float)
    values = values[~np.isnan(values).any(axis=1)]
    picks = np.random.default_rng(seed).integers(len(values), size=(2000, len(values)))
    ends = central_interval(values[picks].mean(axis=1), level)
    row: dict[str, Any] = {}
    for i, part in enumerate(_PARTS):
        row[part] = float(values[:, i].mean())
        row[f"{part}_low"], row[f"{part}_high"] = (float(e) for e in ends[:, i])
    return row


def _sentence(row: dict[str, Any]) -> str:
    return (
        f"{row['name']}, {row['relation']}: knowledge {row['knowledge']:.3f} "
        f"({row['knowledge_low']:.3f} to {row['knowledge_high']:.3f}; chance {row['chance']:.3f}), "
        f"{row['deterministic']:.3f} if it answered alike in every paraphrase: a loss of "
        f"{row['confidence_loss']:.3f}; right answer first in {row['accuracy']:.0%}."
    )


def _figure(table: pd.DataFrame) -> Figure:
    said = "; ".join(
        f"{r['name']}, {r['relation']}: {r['knowledge']:.3f} of {r['deterministic']:.3f}"
        for r in table.to_dict("records")
    )
    return Figure(
        key="knowledge",
        title="Knowledge, and the cost of inconsistency",
        caption="Bar: knowledge; pale end: lost to inconsistency over paraphrases; whisker: "
        "interval over facts; tick: a guess.",
        alt=f"Bars of knowledge and deterministic knowledge. {said}.",
        draw=lambda width: charts.knowledge(table, width=width),
    )
