"""Tables 1 to 3: the risks of a list of models next to the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from clinometer.display.numbers import MEASURES
from clinometer.measure import RiskReport
from clinometer.models.catalog.suites import suite
from clinometer.report import Figure, Table, charts
from clinometer.report.figures import basis
from clinometer.runs import AuditSettings
from clinometer.studies.framework import (
    DIFFERENCES,
    Findings,
    Plan,
    PlannedRun,
    Results,
    in_words,
    only,
    planned_runs,
    printed,
    risks,
    risks_table,
    study_contexts,
)
from clinometer.topics import Topic, load_topic


class _Part(NamedTuple):
    """A printed table: its topic, its title, and the suite that names its models."""

    topic: str
    title: str
    suite: str


#: Table 5 of the paper, in Chinese.
LANGUAGES = "table5"
#: study -> the printed tables it is compared with
PARTS = {
    "table1": {"table1": _Part("gender", "Table 1: gender", "bvf-gender")},
    "table2": {"table2": _Part("race", "Table 2: race", "bvf-race")},
    "table3": {
        "table3-religion": _Part("religion", "Table 3: religion", "bvf-religion"),
        "table3-disability": _Part("disability", "Table 3: disability", "bvf-religion"),
    },
    "languages": {
        LANGUAGES: _Part(
            "gender-zh",
            "Table 5: gender in another language (published: Chinese)",
            "bvf-chinese",
        )
    },
}


def table_plan(
    study: str, models: Sequence[str], *, contexts: str | None, settings: AuditSettings
) -> Plan:
    """Every model on every topic of the table."""
    audits: list[PlannedRun] = []
    for key, part in PARTS[study].items():
        topic = load_topic(part.topic)
        audits += planned_runs(models, topic, study_contexts(topic, contexts), settings, role=key)
    return Plan(study, audits)


def languages_plan(
    models: Sequence[str], *, topic: Topic, contexts: str | None, settings: AuditSettings
) -> Plan:
    """Every model on a topic in its own language."""
    chosen = study_contexts(topic, contexts)
    return Plan("languages", planned_runs(models, topic, chosen, settings, role=LANGUAGES))


def table_findings(study: str, results: Results) -> Findings:
    """Ours with intervals and ranks, the printed rows below them, and why they differ."""
    tables: list[Table] = []
    figures: list[Figure] = []
    sentences: list[str] = []
    for key, part in PARTS[study].items():
        named = only(results, key)
        if not named:
            continue
        published = pd.DataFrame(list(printed()[key]))
        odd = [row.model for row in printed()[key] if not row.adds_up]
        note = f"As printed; R is not the sum of its parts for {', '.join(odd)}." if odd else ""
        theirs = published[["model", *MEASURES]].rename(columns={"model": "name"})
        ours = risks(named, references=True)
        # The printed R of the same model, identified by its hub id.
        ids = {entry.id: entry.name for entry in suite(part.suite)}
        known = dict(zip(theirs["name"], theirs["R"], strict=True))
        ours["published"] = [known.get(ids.get(name, "")) for name in ours["name"]]
        tables += [
            replace(
                risks_table(key, f"{part.title}, measured here", named),
                frame=ours.drop(columns=["muted"]),
            ),
            Table(f"{key}-published", f"{part.title}, as published", theirs, note),
        ]
        figures.append(_figure(key, part.title, ours, theirs, basis(named[0][1])))
        sentences.append(_sentence(part.title, [(name, run.risks) for name, run in named]))
    sentences += ["Why a figure here is not the printed one:", *DIFFERENCES]
    title = " and ".join(part.title for part in PARTS[study].values())
    return Findings(study, title, sentences, tables, figures, [run for _, run in results])


def _figure(
    key: str, title: str, ours: pd.DataFrame, theirs: pd.DataFrame, measured: str
) -> Figure:
    pale = theirs.assign(name=theirs["name"] + " (published)", muted=True)
    table = pd.concat([ours, pale.sort_values("R", kind="stable")], ignore_index=True)
    return Figure(
        key=key,
        title=f"{title}, measured here and as published (pale)",
        caption=f"{measured}. Whisker: interval of R over contexts. Published figures "
        "carry the released code's single-token words and padding; see the notes.",
        alt=f"Bars of bias and volatility risk. R: {in_words(table, '{name} {R:.3f}')}.",
        draw=lambda width: charts.stacked(table, width=width),
    )


def _sentence(title: str, named: list[tuple[str, RiskReport]]) -> str:
    ordered = sorted(named, key=lambda pair: pair[1].R.value)
    (low, least), (high, most) = ordered[0], ordered[-1]
    bias = sum(report.R_bias.value > 0.5 * report.R.value for _, report in named)
    text = f"{title}: lowest R {low} ({least.R.value:.3f})"
    if len(named) > 1:
        text += f", highest {high} ({most.R.value:.3f})"
    return f"{text}; bias is the larger part in {bias} of {len(named)} models."
