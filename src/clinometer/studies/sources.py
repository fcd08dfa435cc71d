"""Table 4: do rankings of models agree across contexts from several sources?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pandas as pd

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import SOURCES
from clinometer.display.numbers import MEASURES
from clinometer.errors import ContextError, SettingsError
from clinometer.report import Table, charts
from clinometer.report.figure import chart
from clinometer.report.figures import risk_rows
from clinometer.studies.framework import (
    Findings,
    Results,
    only,
    risks_table,
)
from clinometer.studies.joint import Joint, joint, kendall, kendall_interval
from clinometer.studies.risk_tables import printed
from clinometer.topics import Topic

_PRINTED = {"wikipedia": "table1", **{s: f"table4-{s}" for s in SOURCES[1:]}}


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
    members = sorted(
        ((label, name, run) for name, named in by_source.items() for label, run in named),
        key=lambda member: member[0],
    )
    runs, labels = [run for *_, run in members], [f"{model}, {name}" for model, name, _ in members]
    table = pd.DataFrame(risk_rows(runs, labels))
    return Findings(
        "sources",
        [
            Table("sources-agreement", "Agreement of the rankings", _agreement(risks)),
            Table("sources-published", "The same of the published figures", _published()),
            *(
                risks_table(f"sources-{name}", f"Contexts from {name}", named)
                for name, named in by_source.items()
            ),
        ],
        [
            chart(
                "sources",
                "One model, several sources of contexts",
                "Risks of each model in the contexts of each source, with intervals over contexts.",
                table.drop(columns=["muted"]),
                "{name} R {R:.3f}",
                charts.risks,
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


def _published() -> pd.DataFrame:
    """Kendall's tau of the printed R: the paper calls the rankings consistent."""
    R = {s: {row.model: row.R for row in printed()[table]} for s, table in _PRINTED.items()}
    models = list(R["book"])
    return pd.DataFrame(
        {"pair": f"{a}, {b}", "tau": float(kendall(*([R[s][m] for m in models] for s in (a, b))))}
        for a, b in itertools.combinations(R, 2)
    )
