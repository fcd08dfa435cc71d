"""Table 4: do rankings of models agree across contexts from several sources?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import SOURCES
from clinometer.display.numbers import MEASURES
from clinometer.errors import ContextError, SettingsError
from clinometer.measure.comparison_engine import Joint
from clinometer.report import Figure, Table, charts
from clinometer.report.figures import risk_rows
from clinometer.runs import AuditSettings, Run
from clinometer.statistics.rank import kendall, kendall_interval
from clinometer.studies.framework import (
    Findings,
    Models,
    Plan,
    Results,
    in_words,
    joint,
    only,
    planned_runs,
    printed,
    risks_table,
)
from clinometer.topics import Topic

_PRINTED = {
    "wikipedia": "table1",
    **{s: f"table4-{s}" for s in SOURCES[1:]},
}


def source_sets(topic: Topic, given: Sequence[tuple[str, str]]) -> list[tuple[str, ContextSet]]:
    """The given sets, or the built-in ones of the topic."""
    if given:
        return [(name, load_contexts(where, topic=topic)) for name, where in given]
    names = builtin_contexts()
    sets = [
        (s, load_contexts(f"{s}-{topic.name}")) for s in SOURCES if f"{s}-{topic.name}" in names
    ]
    if len(sets) < 2:
        raise ContextError(
            f"study sources: topic {topic.name!r} has fewer than two built-in sets of sources; "
            "name them: --source book=book.csv --source web=web.csv"
        )
    return sets


def sources_plan(
    models: Models,
    sources: Sequence[tuple[str, ContextSet]],
    *,
    topic: Topic,
    settings: AuditSettings,
) -> Plan:
    """Every model in the contexts of every source."""
    if len(models) < 2:
        raise SettingsError("study sources: expected at least two models to rank")
    return _over("sources", models, sources, topic, settings)


def _over(
    study: str,
    models: Models,
    sets: Sequence[tuple[str, ContextSet]],
    topic: Topic,
    settings: AuditSettings,
) -> Plan:
    """Every model over every set of contexts."""
    audits = [a for role, c in sets for a in planned_runs(models, topic, c, settings, role=role)]
    return Plan(study, audits)


def sources_findings(results: Results, *, seed: int = 0) -> Findings:
    """Risks by source, and Kendall's tau of each pair of sources with an interval over contexts."""
    names = list(dict.fromkeys(planned.role for planned, _ in results))
    models = _in_all(results, names)
    by_source = {
        name: [(label, run) for label, run in only(results, name) if label in models]
        for name in names
    }
    risks = {
        name: joint([run for _, run in named], seed=seed + i)
        for i, (name, named) in enumerate(by_source.items())
    }
    agreement = _agreement(risks)
    said = [_sentence(agreement[agreement["measure"] == m], m, len(models)) for m in MEASURES]
    tables = [
        risks_table(f"sources-{name}", f"Contexts from {name}", named)
        for name, named in by_source.items()
    ]
    chart = [
        (f"{label}, {name}", run)
        for model in sorted(models)
        for name, named in by_source.items()
        for label, run in named
        if label == model
    ]
    return Findings(
        "sources",
        "The same models over contexts of different sources (Table 4)",
        [*said, _published_sentence()],
        [Table("sources-agreement", "Agreement of the rankings", agreement), *tables],
        [
            _figure(
                "sources",
                "One model, several sources of contexts",
                "Risks of each model in the contexts of each source, with intervals over contexts.",
                _risks(chart),
            )
        ],
        [run for _, run in results],
    )


def _in_all(results: Results, names: list[str]) -> list[str]:
    """Models that were scored in every source: only they can be ranked."""
    labels = [{label for label, _ in only(results, name)} for name in names]
    models = [label for label, _ in only(results, names[0]) if all(label in s for s in labels)]
    if len(models) < 2 or len(names) < 2:
        raise SettingsError("study sources: expected two models that were scored in two sources")
    return models


def _agreement(risks: dict[str, Joint]) -> pd.DataFrame:
    rows = []
    for (a, first), (b, second) in itertools.combinations(risks.items(), 2):
        for m, measure in enumerate(MEASURES):
            low, high = kendall_interval(first.draws[:, :, m], second.draws[:, :, m])
            tau = float(kendall(first.values[:, m], second.values[:, m]))
            rows.append(
                {
                    "pair": f"{a}, {b}",
                    "measure": measure,
                    "tau": tau,
                    "tau_low": min(low, tau),
                    "tau_high": max(high, tau),
                }
            )
    return pd.DataFrame(rows)


def _sentence(agreement: pd.DataFrame, measure: str, models: int) -> str:
    sure = int((agreement["tau_low"] > 0).sum())
    return (
        f"{measure}: Kendall's τ of {models} models between two sources is "
        f"{agreement['tau'].mean():+.2f} on average, from {agreement['tau'].min():+.2f} to "
        f"{agreement['tau'].max():+.2f}; above 0 with its interval in {sure} of {len(agreement)} "
        "pairs of sources."
    )


def _published_sentence() -> str:
    """The paper says that the rankings agree; this is what its own figures give."""
    R = {s: {row.model: row.R for row in printed()[table]} for s, table in _PRINTED.items()}
    models = list(R["book"])
    taus = {
        (a, b): float(kendall([R[a][m] for m in models], [R[b][m] for m in models]))
        for a, b in itertools.combinations(R, 2)
    }
    (a, b), least = min(taus.items(), key=lambda item: item[1])
    return (
        f"Published (Tables 1 and 4, {len(models)} models): mean τ of R "
        f"{np.mean(list(taus.values())):+.2f}, lowest {least:+.2f} ({a} and {b}). The paper calls "
        f"the rankings consistent; its LLaMA2 has {R['wikipedia']['LLaMA2']:.3f} on Wikipedia and "
        f"{R['conversation']['LLaMA2']:.3f} on conversation, its GPT-2 "
        f"{R['wikipedia']['GPT-2']:.3f} and {R['conversation']['GPT-2']:.3f}."
    )


def _risks(named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    rows = risk_rows([run for _, run in named], [name for name, _ in named])
    return pd.DataFrame(rows).drop(columns=["muted"])


def _figure(key: str, title: str, caption: str, table: pd.DataFrame) -> Figure:
    return Figure(
        key=key,
        title=title,
        caption=caption,
        alt=f"Values with intervals. R: {in_words(table, '{name} {R:.3f}')}.",
        draw=lambda width: charts.intervals(table, width=width),
    )
