"""Tables 1 to 3: the risks of a list of models next to the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from clinometer.display.numbers import MEASURES
from clinometer.models.catalog.suites import suite
from clinometer.report import Figure, Table, charts
from clinometer.report.figures import basis
from clinometer.runs import AuditSettings, Run
from clinometer.studies.framework import (
    DIFFERENCES,
    Findings,
    Plan,
    PlannedRun,
    only,
    planned_runs,
    printed,
    risks,
    risks_table,
    study_contexts,
)
from clinometer.topics import Topic, load_topic

#: study -> the printed tables it is compared with, each with its topic
PARTS = {
    "table1": ("table1",),
    "table2": ("table2",),
    "table3": ("table3-religion", "table3-disability"),
    "languages": ("table5",),
}
LANGUAGES = "table5"
_TOPICS = {
    "table1": "gender",
    "table2": "race",
    "table3-religion": "religion",
    "table3-disability": "disability",
}
_TITLES = {
    "table1": "Table 1: gender",
    "table2": "Table 2: race",
    "table3-religion": "Table 3: religion",
    "table3-disability": "Table 3: disability",
    "table5": "Table 5: gender in another language (published: Chinese)",
}


def table_plan(
    study: str, models: Sequence[str], *, contexts: str | None, settings: AuditSettings
) -> Plan:
    """Every model on every topic of the table."""
    audits: list[PlannedRun] = []
    for part in PARTS[study]:
        topic = load_topic(_TOPICS[part])
        audits += planned_runs(models, topic, study_contexts(topic, contexts), settings, role=part)
    return Plan(study, tuple(audits))


def languages_plan(
    models: Sequence[str], *, topic: Topic, contexts: str | None, settings: AuditSettings
) -> Plan:
    """Every model on a topic in its own language."""
    chosen = study_contexts(topic, contexts)
    return Plan("languages", planned_runs(models, topic, chosen, settings, role=LANGUAGES))


def table_findings(study: str, results: list[tuple[PlannedRun, Run]]) -> Findings:
    """Ours with intervals and ranks, the printed rows below them, and why they differ."""
    tables: list[Table] = []
    figures: list[Figure] = []
    sentences: list[str] = []
    for part in PARTS[study]:
        named = only(results, part)
        if not named:
            continue
        ours = risks(named, references=True)
        ours["published"] = [_published(part, name) for name in ours["name"]]
        tables.append(
            replace(risks_table(part, f"{_TITLES[part]}, measured here", named), frame=_shown(ours))
        )
        tables.append(_printed_table(part))
        figures.append(_figure(part, ours, named))
        sentences.append(_sentence(part, named))
    sentences += ["Why a figure here is not the printed one:", *DIFFERENCES]
    return Findings(
        study,
        " and ".join(_TITLES[p] for p in PARTS[study]),
        tuple(sentences),
        tuple(tables),
        tuple(figures),
        tuple(run for _, run in results),
    )


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=["muted"])


def _published(part: str, model: str) -> float | None:
    """The printed R of the same model, identified by its hub id."""
    names = {"table1": "bvf-gender", "table2": "bvf-race"}.get(
        part, "bvf-chinese" if part == LANGUAGES else "bvf-religion"
    )
    ids = {entry.id: entry.name for entry in suite(names)}
    row = next((r for r in printed(part) if r.model == ids.get(model)), None)
    return None if row is None else row.R


def _printed_table(part: str) -> Table:
    rows = [{"name": r.model, **{m: getattr(r, m) for m in MEASURES}} for r in printed(part)]
    odd = [r.model for r in printed(part) if not r.adds_up]
    note = f"As printed; R is not the sum of its parts for {', '.join(odd)}." if odd else ""
    return Table(f"{part}-published", f"{_TITLES[part]}, as published", pd.DataFrame(rows), note)


def _figure(part: str, ours: pd.DataFrame, named: list[tuple[str, Run]]) -> Figure:
    theirs = [
        {"name": f"{r.model} (published)", "muted": True, **{m: getattr(r, m) for m in MEASURES}}
        for r in sorted(printed(part), key=lambda r: r.R)
    ]
    table = pd.concat([ours, pd.DataFrame(theirs)], ignore_index=True)
    said = "; ".join(f"{r['name']} {r['R']:.3f}" for r in table.to_dict("records"))
    return Figure(
        key=part,
        title=f"{_TITLES[part]}, measured here and as published (pale)",
        caption=f"{basis(named[0][1])}. Whisker: interval of R over contexts. Published figures "
        "carry the released code's single-token words and padding; see the notes.",
        alt=f"Bars of bias and volatility risk. R: {said}.",
        draw=lambda width: charts.stacked(table, width=width),
    )


def _sentence(part: str, named: list[tuple[str, Run]]) -> str:
    ordered = sorted(named, key=lambda pair: pair[1].risks.R.value)
    (low, least), (high, most) = ordered[0], ordered[-1]
    share = [_bias_share(run) for _, run in named]
    bias = sum(s > 0.5 for s in share if s is not None)
    text = f"{_TITLES[part]}: lowest R {low} ({least.risks.R.value:.3f})"
    if len(named) > 1:
        text += f", highest {high} ({most.risks.R.value:.3f})"
    return f"{text}; bias is the larger part in {bias} of {len(named)} models."


def _bias_share(run: Run) -> float | None:
    R: Any = run.risks.R.value
    return run.risks.R_bias.value / R if R > 0 else None
