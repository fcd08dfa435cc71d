"""Table 4: the same models over contexts from different sources; do their rankings agree?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import SOURCES
from clinometer.display.names import MEASURES
from clinometer.errors import ContextError, SettingsError
from clinometer.report import Figure, Table, charts
from clinometer.runs import AuditSettings, Run
from clinometer.statistics.rank import kendall, kendall_interval
from clinometer.studies.framework.frame import Findings, only
from clinometer.studies.framework.plan import Ask, Plan, asks_of
from clinometer.studies.framework.published import printed
from clinometer.studies.framework.side_by_side import joint, risks_table
from clinometer.topics import Topic

_PRINTED = {
    "wikipedia": "table1",
    **{s: f"table4-{s}" for s in SOURCES[1:]},
}


def source_sets(topic: Topic, given: Sequence[tuple[str, str]]) -> list[tuple[str, ContextSet]]:
    """The given sets, or the built-in ones of the topic."""
    if given:
        return [(name, load_contexts(where, topic=topic)) for name, where in given]
    known = builtin_contexts()
    found = [
        (s, load_contexts(f"{s}-{topic.name}")) for s in SOURCES if f"{s}-{topic.name}" in known
    ]
    if len(found) < 2:
        raise ContextError(
            f"study sources: topic {topic.name!r} has fewer than two built-in sets of sources; "
            "name them: --source book=book.csv --source web=web.csv"
        )
    return found


def sources_plan(
    models: Sequence[str],
    sources: Sequence[tuple[str, ContextSet]],
    *,
    topic: Topic,
    settings: AuditSettings,
) -> Plan:
    """Every model in the contexts of every source."""
    if len(models) < 2:
        raise SettingsError("study sources: expected at least two models to rank")
    asks = [a for name, c in sources for a in asks_of(models, topic, c, settings, role=name)]
    return Plan("sources", tuple(asks))


def sources_findings(asked: list[tuple[Ask, Run]], *, seed: int = 0) -> Findings:
    """Risks by source, and Kendall's tau of each pair of sources with an interval over contexts."""
    names = list(dict.fromkeys(ask.role for ask, _ in asked))
    models = _in_all(asked, names)
    values, draws = [], []
    tables: list[Table] = []
    for i, name in enumerate(names):
        named = [(label, run) for label, run in only(asked, name) if label in models]
        found = joint([run for _, run in named], seed=seed + i)
        values.append(found.values)
        draws.append(found.draws)
        tables.append(risks_table(f"sources-{name}", f"Contexts from {name}", named))
    agreement = _agreement(names, np.stack(values), np.stack(draws))
    said = [_sentence(agreement[agreement["measure"] == m], m, len(models)) for m in MEASURES]
    return Findings(
        "sources",
        "The same models over contexts of different sources (Table 4)",
        (*said, *_published_sentences()),
        (Table("sources-agreement", "Agreement of the rankings", agreement), *tables),
        (_figure(names, asked, models),),
        tuple(run for _, run in asked),
    )


def _in_all(asked: list[tuple[Ask, Run]], names: list[str]) -> list[str]:
    """Models that were scored in every source: only they can be ranked."""
    labels = [{label for label, _ in only(asked, name)} for name in names]
    models = [label for label, _ in only(asked, names[0]) if all(label in s for s in labels)]
    if len(models) < 2 or len(names) < 2:
        raise SettingsError("study sources: expected two models that were scored in two sources")
    return models


def _agreement(names: list[str], values: Any, draws: Any) -> pd.DataFrame:
    rows = []
    for (i, a), (j, b) in itertools.combinations(enumerate(names), 2):
        for m, measure in enumerate(MEASURES):
            low, high = kendall_interval(draws[i][:, :, m], draws[j][:, :, m])
            tau = float(kendall(values[i][:, m], values[j][:, m]))
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


def _published_sentences() -> list[str]:
    """The paper says that the rankings agree; this is what its own figures give."""
    R = {source: {row.model: row.R for row in printed(table)} for source, table in _PRINTED.items()}
    models = list(R["book"])
    taus = {
        (a, b): float(kendall([R[a][m] for m in models], [R[b][m] for m in models]))
        for a, b in itertools.combinations(R, 2)
    }
    (a, b), least = min(taus.items(), key=lambda item: item[1])
    return [
        f"Published (Tables 1 and 4, {len(models)} models): mean τ of R "
        f"{np.mean(list(taus.values())):+.2f}, lowest {least:+.2f} ({a} and {b}). The paper calls "
        f"the rankings consistent; its LLaMA2 has {R['wikipedia']['LLaMA2']:.3f} on Wikipedia and "
        f"{R['conversation']['LLaMA2']:.3f} on conversation, its GPT-2 "
        f"{R['wikipedia']['GPT-2']:.3f} and {R['conversation']['GPT-2']:.3f}."
    ]


def _figure(names: list[str], asked: list[tuple[Ask, Run]], models: list[str]) -> Figure:
    rows = []
    for name in names:
        for label, run in only(asked, name):
            if label in models:
                row: dict[str, Any] = {"name": f"{label}, {name}"}
                for measure in MEASURES:
                    e = getattr(run.risks, measure)
                    row |= {measure: e.value, f"{measure}_low": e.low, f"{measure}_high": e.high}
                rows.append(row | {"model": label})
    table = pd.DataFrame(rows).sort_values(["model"], kind="stable", ignore_index=True)
    said = "; ".join(f"{r['name']} {r['R']:.3f}" for r in table.to_dict("records"))
    return Figure(
        key="sources",
        title="One model, several sources of contexts",
        caption="Risks of each model in the contexts of each source, with intervals over contexts.",
        alt=f"Values with intervals. R: {said}.",
        draw=lambda width: charts.intervals(table, width=width),
    )
