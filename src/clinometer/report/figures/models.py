"""The risks of several models, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from clinometer.display.text import brief
from clinometer.measure import Comparison, reference_risks
from clinometer.measure.risks import MEASURES
from clinometer.report.charts.risks import differences_chart, risks_chart
from clinometer.report.figure import Figure, chart
from clinometer.report.figures.run_words import basis
from clinometer.runs import Run
from clinometer.runs.names import context_noun
from clinometer.statistics.estimate import with_ends

REFERENCES: tuple[tuple[str, Literal["unbiased", "stereotyped", "random"]], ...] = (
    ("Ideally unbiased", "unbiased"),
    ("Stereotyped", "stereotyped"),
    ("Randomly stereotyped", "random"),
)
"""The reference models: (name on a page, name in `reference_risks`)."""


def reference_rows(run: Run) -> list[dict[str, Any]]:
    """Return the three reference models (B.2) as rows of a table of risks."""
    reference = run.record.topic.reference
    n_categories = len(run.preferences.categories)
    categories = reference if isinstance(reference, list) else n_categories
    criterion = run.risks.criterion
    rows = []
    for label, name in REFERENCES:
        risks = reference_risks(name, categories=categories, criterion=criterion)
        rows.append({"name": label, **risks._asdict()})
    return rows


def risk_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return name, R, R_bias, R_volatility with their intervals, n_contexts and n_eff of each
    run."""
    rows = []
    for name, run in zip(names, runs, strict=True):
        row: dict[str, Any] = {"name": name}
        for measure in MEASURES:
            row |= with_ends(measure, getattr(run.risks, measure))
        row["n_contexts"] = run.risks.n_contexts
        row["n_eff"] = run.risks.n_eff
        rows.append(row)
    return rows


def risks_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """Return R of each model and its two parts, the highest R first; behind them what shuffled
    words give."""
    table = pd.DataFrame(risk_rows(runs, names))
    floors = [run.record.floor for run in runs]
    behind = ""
    if any(floors):
        behind = "; grey: the same words, shuffled"
        for measure in MEASURES:
            for end in ("low", "high"):
                table[f"{measure}_chance_{end}"] = [
                    None if floor is None else getattr(getattr(floor, measure), end)
                    for floor in floors
                ]
    table = table.sort_values("R", ascending=False, kind="stable", ignore_index=True)
    noun = context_noun(runs[0])
    level = 100 * runs[0].record.settings.level
    bases = [basis(run) for run in runs]
    if len(set(bases)) > 1:
        bases = [
            f"{brief(name, 40)}: {text}"
            for name, text in zip(names, bases, strict=True)
        ]
    return chart(
        "risks",
        "Risk of each model and its two parts",
        f"Dot: value; band: its {level:g} % interval{behind}. R = Rᵇ + Rᵛ, 0 is the reference. "
        f"{'; '.join(dict.fromkeys(bases))}.",
        table,
        "{name}: R {R:.3f}, bias {R_bias:.3f}, volatility {R_volatility:.3f}",
        risks_chart,
        about=(
            "all of it",
            f"the same in every {noun}",
            f"another lean in another {noun}",
        ),
    )


def differences_figure(comparison: Comparison) -> Figure:
    """Return the differences of every pair of models, context by context."""
    rows = [
        (f"{d.a} minus {d.b}", d.measure, d.value, d.low, d.high)
        for d in comparison.overall
        if d.value is not None and d.measure in MEASURES
    ]
    return chart(
        "differences",
        "Differences between models, context by context",
        "Right of zero: the first model has the higher risk. Thick: "
        f"{100 * comparison.level:g} % intervals, for all pairs together. Ring: holds zero, so "
        f"the order is open. {len(comparison.groups)} groups × {comparison.n_contexts:,} contexts, "
        f"{comparison.n_eff:,.1f} effective.",
        pd.DataFrame(rows, columns=["pair", "measure", "value", "low", "high"]),
        "{pair}, {measure}: {value:+.3f}",
        differences_chart,
    )
