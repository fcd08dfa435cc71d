"""Contexts from several sources: do rankings agree (Table 4), and does the corpus matter?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import FEWEST, SOURCES, too_small
from clinometer.display.numbers import MEASURES, counted
from clinometer.errors import ContextError, SettingsError
from clinometer.measure.comparison_engine import Joint
from clinometer.report import Figure, Table, charts
from clinometer.report.figures import risk_rows
from clinometer.runs import AuditSettings, Run
from clinometer.runs.align import compare_runs
from clinometer.statistics.arrays import FloatArray
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


HALVES = ("half 1", "half 2")


def halves(contexts: ContextSet, *, seed: int) -> tuple[ContextSet, ContextSet]:
    """A set split at random, occurrence by occurrence, as if its corpus had been split.

    A context that occurred more than once can be in both halves.
    """
    counts = np.array(contexts.counts)
    if (counts != np.round(counts)).any() or counts.sum() < 2:
        raise ContextError(
            f"{contexts.name}: expected counts that are whole numbers, to split the occurrences; "
            "name a set that was mined"
        )
    order = sorted(range(len(contexts)), key=contexts.templates.__getitem__)
    first = np.zeros_like(counts)
    first[order] = np.random.default_rng(seed).binomial(counts[order].astype(int), 0.5)

    def half(name: str, part: FloatArray) -> ContextSet:
        kept = np.flatnonzero(part).tolist()
        return ContextSet(
            f"{contexts.name}, {name}",
            [contexts.templates[i] for i in kept],
            part[kept].tolist(),
            metadata=contexts.metadata,
        )

    return half(HALVES[0], first), half(HALVES[1], counts - first)


def corpora_plan(
    models: Models,
    sources: Sequence[tuple[str, ContextSet]],
    *,
    topic: Topic,
    settings: AuditSettings,
) -> Plan:
    """Every model over every source, and over the two halves of the first."""
    name, first = sources[0]
    split = zip(HALVES, halves(first, seed=settings.seed), strict=True)
    sets = [*sources, *((f"{name}, {half}", contexts) for half, contexts in split)]
    return _over("corpora", models, sets, topic, settings)


def corpora_findings(results: Results, *, seed: int = 0) -> Findings:
    """Risks of each model over each set, and their differences: the halves from each other, the
    other sources from the first."""
    runs = {(planned.label, planned.role): run for planned, run in results}
    models = list(dict.fromkeys(planned.label for planned, _ in results))
    roles = list(dict.fromkeys(planned.role for planned, _ in results))
    first = roles[0]
    pairs = [(f"{first}, {HALVES[0]}", f"{first}, {HALVES[1]}")]
    pairs += [(role, first) for role in roles[1:] if role not in pairs[0]]
    rows: list[dict[str, Any]] = []
    for model, (a, b) in itertools.product(models, pairs):
        if (model, a) in runs and (model, b) in runs:
            rows += _differences(runs[model, a], runs[model, b], model, (a, b), seed)
    table = pd.DataFrame(rows)
    risks = _risks(
        [
            (f"{model}, {role}", runs[model, role])
            for model, role in itertools.product(models, roles)
            if (model, role) in runs
        ]
    )
    return Findings(
        "corpora",
        "The same model over different corpora",
        _sentences(table, pairs, runs),
        [
            Table("corpora-risks", "Risks over each set of contexts", risks),
            Table(
                "corpora-differences",
                "Differences between sets: groups paired, contexts not",
                table,
                "p (Holm) is corrected for the three risks of a pair of sets. The correlation is "
                "that of the groups' mean stereotypes.",
            ),
        ],
        [
            _figure(
                "corpora",
                "One model, several corpora",
                "Risks of each model over each set of contexts, with intervals over contexts.",
                risks,
            )
        ],
        list(runs.values()),
    )


def _differences(
    a: Run, b: Run, model: str, pair: tuple[str, str], seed: int
) -> list[dict[str, Any]]:
    found = compare_runs([a, b], align="groups", names=pair, seed=seed)
    leans = [dict(zip(run.risks.groups, run.risks.mean_stereotype, strict=True)) for run in (a, b)]
    both = np.array([[one[g] for g in found.groups] for one in leans])[..., :-1]
    same = float(np.corrcoef(both.reshape(2, -1))[0, 1]) if both[0].size > 1 else None
    return [
        {
            "name": model,
            "pair": f"{d.a} − {d.b}",
            "measure": d.measure,
            "value": d.corrected,
            "low": d.low,
            "high": d.high,
            "p_corrected": d.p_corrected,
            "correlation": same,
        }
        for d in found.overall
    ]


def _sentences(
    table: pd.DataFrame, pairs: list[tuple[str, str]], runs: dict[tuple[str, str], Run]
) -> list[str]:
    said = []
    split = " − ".join(pairs[0])
    for measure in MEASURES:
        rows = table[table["measure"] == measure]
        within, between = rows[rows["pair"] == split], rows[rows["pair"] != split]
        text = f"{measure}: {_counted(within, 'halves of one corpus', 'model')}"
        if len(between):
            text += f"; {_counted(between, 'corpora of two sources', 'comparison')}"
        said.append(text + ".")
    small = {role: run for (_, role), run in runs.items() if too_small(run.record.contexts.n_eff)}
    if small:
        sizes = ", ".join(f"{r} ({run.record.contexts.n_eff:.0f})" for r, run in small.items())
        said.append(f"Too small to measure with (below {FEWEST} effective contexts): {sizes}.")
    return said


def _counted(rows: pd.DataFrame, what: str, unit: str) -> str:
    """How many differences are shown, and the largest of all."""
    known = rows[rows["low"].notna()]
    shown = int(((known["low"] > 0) | (known["high"] < 0)).sum())
    largest = max(rows["value"], key=abs)
    of = counted(len(known), unit)
    return f"{what} differ in {shown} of {of}, by at most {largest:+.3f}"
