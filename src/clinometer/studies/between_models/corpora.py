"""Does the corpus matter? One model over halves of a corpus, and over corpora of other sources."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.contexts import ContextSet
from clinometer.contexts.fit import FEWEST, too_small
from clinometer.display.names import MEASURES
from clinometer.errors import ContextError
from clinometer.report import Figure, Table, charts
from clinometer.report.figures.comparison import risk_rows
from clinometer.runs import AuditSettings, Run
from clinometer.runs.align import compare_runs
from clinometer.studies.framework.frame import Findings
from clinometer.studies.framework.plan import Ask, Plan, asks_of
from clinometer.topics import Topic

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
    found = []
    for name, part in zip(HALVES, (first, counts - first), strict=True):
        kept = np.flatnonzero(part).tolist()
        templates = [contexts.templates[i] for i in kept]
        metadata = contexts.metadata
        found.append(
            ContextSet(
                f"{contexts.name}, {name}", templates, part[kept].tolist(), metadata=metadata
            )
        )
    return found[0], found[1]


def corpora_plan(
    models: Sequence[str],
    sources: Sequence[tuple[str, ContextSet]],
    *,
    topic: Topic,
    settings: AuditSettings,
) -> Plan:
    """Every model over every source, and over the two halves of the first."""
    name, first = sources[0]
    split = zip(HALVES, halves(first, seed=settings.seed), strict=True)
    sets = [*sources, *((f"{name}, {half}", contexts) for half, contexts in split)]
    asks = [a for role, c in sets for a in asks_of(models, topic, c, settings, role=role)]
    return Plan("corpora", tuple(asks))


def corpora_findings(asked: list[tuple[Ask, Run]], *, seed: int = 0) -> Findings:
    """Risks of each model over each set, and their differences: the halves from each other, the
    other sources from the first."""
    runs = {(ask.label, ask.role): run for ask, run in asked}
    models = list(dict.fromkeys(ask.label for ask, _ in asked))
    roles = list(dict.fromkeys(ask.role for ask, _ in asked))
    first = roles[0]
    pairs = [(f"{first}, {HALVES[0]}", f"{first}, {HALVES[1]}")]
    pairs += [(role, first) for role in roles[1:] if role not in pairs[0]]
    rows: list[dict[str, Any]] = []
    for model, (a, b) in itertools.product(models, pairs):
        if (model, a) in runs and (model, b) in runs:
            rows += _differences(runs[model, a], runs[model, b], model, (a, b), seed)
    table = pd.DataFrame(rows)
    named = [(model, role) for model in models for role in roles if (model, role) in runs]
    labels = [f"{model}, {role}" for model, role in named]
    shown = pd.DataFrame(risk_rows([runs[key] for key in named], labels)).drop(columns=["muted"])
    return Findings(
        "corpora",
        "The same model over different corpora",
        tuple(_sentences(table, pairs, runs)),
        (
            Table("corpora-risks", "Risks over each set of contexts", shown),
            Table(
                "corpora-differences",
                "Differences between sets: groups paired, contexts not",
                table,
                "p (Holm) is corrected for the three risks of a pair of sets. The correlation is "
                "that of the groups' mean stereotypes.",
            ),
        ),
        (_figure(shown),),
        tuple(runs.values()),
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
            "p_holm": d.p_holm,
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
    of = f"{len(known)} {unit}{'s' if len(known) != 1 else ''}"
    return f"{what} differ in {shown} of {of}, by at most {largest:+.3f}"


def _figure(shown: pd.DataFrame) -> Figure:
    said = "; ".join(f"{r['name']} {r['R']:.3f}" for r in shown.to_dict("records"))
    return Figure(
        key="corpora",
        title="One model, several corpora",
        caption="Risks of each model over each set of contexts, with intervals over contexts.",
        alt=f"Values with intervals. R: {said}.",
        draw=lambda width: charts.intervals(shown, width=width),
    )
