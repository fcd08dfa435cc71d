"""Tables 1 to 3: the risks of a list of models next to the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from clinometer.display.numbers import MEASURES
from clinometer.measure import RiskReport
from clinometer.models.catalog.suites import suite
from clinometer.report import Figure, Table, charts
from clinometer.report.figures import basis, reference_rows
from clinometer.runs import AuditSettings, Run
from clinometer.studies.framework import (
    DIFFERENCES,
    Findings,
    Models,
    Plan,
    PlannedRun,
    Results,
    in_words,
    only,
    planned_runs,
    printed,
    risks,
    study_contexts,
)
from clinometer.topics import Topic, load_topic


class _Part(NamedTuple):
    """A printed table: its topic, its title, and the suite that names its models."""

    topic: str
    title: str
    suite: str


#: The tables that print the three reference models.
_WITH_REFERENCES = ("table1", "table2")
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
    study: str, models: Models, *, contexts: str | None, settings: AuditSettings
) -> Plan:
    """Every model on every topic of the table."""
    audits: list[PlannedRun] = []
    for key, part in PARTS[study].items():
        topic = load_topic(part.topic)
        audits += planned_runs(models, topic, study_contexts(topic, contexts), settings, role=key)
    return Plan(study, audits)


def languages_plan(
    models: Models, *, topic: Topic, contexts: str | None, settings: AuditSettings
) -> Plan:
    """Every model on a topic in its own language."""
    chosen = study_contexts(topic, contexts)
    return Plan("languages", planned_runs(models, topic, chosen, settings, role=LANGUAGES))


def table_findings(study: str, results: Results) -> Findings:
    """Ours beside the printed figures, in the layout of the printed table, and why they differ."""
    tables: list[Table] = []
    figures: list[Figure] = []
    sentences: list[str] = []
    for key, part in PARTS[study].items():
        named = only(results, key)
        if not named:
            continue
        both = _beside(key, part, named)
        odd = [row.model for row in printed()[key] if not row.adds_up]
        note = f" As printed, R is not the sum of its parts for {', '.join(odd)}." if odd else ""
        columns = [*MEASURES, *(f"printed_{m}" for m in MEASURES)]
        ends = [f"{m}_{end}" for m in MEASURES[1:] for end in ("low", "high")]
        tables.append(
            Table(
                key,
                f"{part.title}, measured here and as printed",
                both.drop(columns=["muted"]),
                f"Worst: bold; best: underlined italic. Under R its interval; the csv file has "
                f"those of Rᵇ and Rᵛ.{note}",
                hidden=("n_contexts", "n_eff", *ends, *(f"{c}_rank" for c in columns)),
                as_printed=tuple(columns),
            )
        )
        figures.append(_figure(key, part.title, both, basis(named[0][1])))
        sentences.append(_sentence(part.title, [(name, run.risks) for name, run in named]))
    sentences += ["Why a figure here is not the printed one:", *DIFFERENCES]
    title = " and ".join(part.title for part in PARTS[study].values())
    return Findings(study, title, sentences, tables, figures, [run for _, run in results])


def _beside(key: str, part: _Part, named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """The reference models, then the rows of the printed table in its order, then further models;
    a model of the table goes by its name there or by its id."""
    theirs = pd.DataFrame(list(printed()[key])).rename(columns={"model": "name"})
    for measure in MEASURES:
        theirs[f"{measure}_rank"] = theirs[measure].rank(method="min")
    numbers = [c for m in MEASURES for c in (m, f"{m}_rank")]
    theirs = theirs[["name", *numbers]].rename(columns={c: f"printed_{c}" for c in numbers})
    ids = {entry.id: entry.name for entry in suite(part.suite)}
    ours = risks([(ids.get(name, name), run) for name, run in named])
    both = theirs.merge(ours, on="name", how="left")
    others = ours[~ours["name"].isin(theirs["name"])].iloc[::-1]
    references = pd.DataFrame(reference_rows(named[0][1]))
    if key in _WITH_REFERENCES:
        columns = [f"printed_{m}" for m in MEASURES]
        as_printed = pd.DataFrame([[0.0, 0, 0], [1, 1, 0], [1, 0, 1]], columns=columns)
        references = references.join(as_printed)
    order = ["name", *(c for c in ours if c != "name"), *theirs.columns[1:]]
    rows = pd.concat([references, both, others], ignore_index=True)[order]
    return rows.assign(muted=rows["muted"].eq(True))


def _figure(key: str, title: str, both: pd.DataFrame, measured: str) -> Figure:
    theirs = both[["name", *(f"printed_{m}" for m in MEASURES)]].dropna()
    theirs = theirs.rename(columns={f"printed_{m}": m for m in MEASURES})
    pale = theirs.assign(name=theirs["name"] + " (published)", muted=True)
    ours = both.dropna(subset=["R"]).sort_values(["muted", "R"], kind="stable")
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
