"""Figures of one or several runs side by side: runs in, `Figure`s out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from clinometer.display.numbers import MEASURES
from clinometer.measure import (
    Comparison,
    reference_risks,
)
from clinometer.report import charts
from clinometer.report.charts.style import brief
from clinometer.report.derived import Reading
from clinometer.report.figure import Figure
from clinometer.runs import Run

REFERENCES = (
    ("Ideally unbiased", "unbiased"),
    ("Stereotyped", "stereotyped"),
    ("Randomly stereotyped", "random"),
)


def basis(run: Run) -> str:
    """The basis of every number of a run; every chart shows it."""
    report = run.risks
    seen = len(report.groups) - len(report.missing_groups)
    text = f"n = {seen} groups × {report.n_contexts:,} contexts, n_eff = {report.n_eff:,.1f}"
    return text + (f", {report.missing_cells:,} cells missing" if report.missing_cells else "")


def reference_rows(run: Run) -> list[dict[str, Any]]:
    """The three reference models (B.2) as rows of a table of risks."""
    given = run.record.topic.reference
    listed = given if isinstance(given, list) else None
    known = len(run.preferences.categories) if listed is None else listed
    rows = []
    for label, name in REFERENCES:
        risks = reference_risks(name, categories=known)  # type: ignore[arg-type]
        rows.append({"name": label, "muted": True, **risks._asdict()})
    return rows


def risk_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """name, R, R_bias, R_volatility with their intervals, n_contexts, n_eff."""
    rows = []
    for name, run in zip(names, runs, strict=True):
        row: dict[str, Any] = {"name": name, "muted": False}
        for measure in MEASURES:
            estimate = getattr(run.risks, measure)
            row[measure] = estimate.value
            row[f"{measure}_low"], row[f"{measure}_high"] = estimate.low, estimate.high
        rows.append({**row, "n_contexts": run.risks.n_contexts, "n_eff": run.risks.n_eff})
    return rows


def risks_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    table = pd.DataFrame([*risk_rows(runs, names), *reference_rows(runs[0])])
    normal = runs[0].risks.normalized
    level = runs[0].risks.R.level
    whisker = f" Whisker: {level:.0%} interval of R." if level else ""
    said = "; ".join(
        f"{brief(r['name'], 40)}: R {r['R']:.3f}, bias {r['R_bias']:.3f}, volatility "
        f"{r['R_volatility']:.3f}"
        for r in table.to_dict("records")
    )
    return Figure(
        key="risks",
        title="Risk and its two parts, beside the three reference models",
        caption=f"{_bases(runs, names)}.{whisker} The pale bars are the ends of the scale.",
        alt=f"Stacked bars of bias risk and volatility risk. {said}.",
        draw=lambda width: charts.stacked(table, width=width, limit=1.0 if normal else None),
        table=table.drop(columns=["muted"]),
    )


def intervals_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    if all(run.risks.R.low is None for run in runs):
        return None
    table = pd.DataFrame(risk_rows(runs, names))
    level = next(run.risks.R.level for run in runs if run.risks.R.level)
    wide = [
        f"{brief(r['name'], 40)} R {r['R']:.3f} from {r['R_low']:.3f} to {r['R_high']:.3f}"
        for r in table.to_dict("records")
        if r["R_low"] is not None and not pd.isna(r["R_low"])
    ]
    return Figure(
        key="intervals",
        title="How sure each number is",
        caption=(
            f"Points are the values, lines their {level:.0%} intervals over contexts. "
            f"{_bases(runs, names)}. An interval need not be centred on its value."
        ),
        alt="Values with intervals. " + "; ".join(wide) + ".",
        draw=lambda width: charts.intervals(table, width=width),
        table=table.drop(columns=["muted"]),
    )


def leaning_figure(readings: Sequence[Reading], names: Sequence[str]) -> Figure:
    frames = [r.leanings().assign(model=n) for r, n in zip(readings, names, strict=True)]
    table = pd.concat(frames, ignore_index=True)
    categories = readings[0].run.risks.categories
    said = []
    for name, frame in zip(names, frames, strict=True):
        first = frame[frame["category"] == categories[0]]["s"].dropna()
        if len(first):
            said.append(f"{brief(name, 40)}: median {first.median():+.3f} towards {categories[0]}")
    two = len(categories) == 2
    return Figure(
        key="leaning",
        title="Which way the groups lean" if two else "Which category the groups lean to",
        caption=(
            f"One point per group: its mean over contexts. Box: the middle half of the groups; "
            f"bar: the median. {_bases([r.run for r in readings], names)}."
        ),
        alt="Box plot of the mean leaning of groups. " + "; ".join(said) + ".",
        draw=lambda width: charts.boxes(table, categories=categories, width=width),
    )


def differences_figure(comparison: Comparison) -> Figure:
    table = pd.DataFrame(
        [
            {
                "pair": f"{d.a} minus {d.b}",
                "measure": d.measure,
                "value": d.value,
                "low": d.low,
                "high": d.high,
            }
            for d in comparison.overall
            if d.value is not None
        ]
    )
    said = "; ".join(
        f"{r['pair']}, {r['measure']}: {r['value']:+.3f}" for r in table.to_dict("records")
    )
    return Figure(
        key="differences",
        title="Differences between models, context by context",
        caption=(
            f"Right of zero: the first model has the higher risk. {comparison.level:.0%} "
            f"intervals; one that contains zero leaves the order open. "
            f"n = {len(comparison.groups)} groups × {comparison.n_contexts:,} contexts, "
            f"n_eff = {comparison.n_eff:,.1f}."
        ),
        alt=f"Paired differences. {said}.",
        draw=lambda width: charts.differences(table, width=width),
    )


def plane_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    table = pd.DataFrame(risk_rows(runs, names)).drop(columns=["muted"])
    said = "; ".join(
        f"{brief(r['name'], 40)}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in table.to_dict("records")
    )
    return Figure(
        key="plane",
        title="Steady lean against swing",
        caption=(
            "Along a dotted line the total risk R is the same. Thin lines: intervals. "
            f"{_bases(runs, names)}."
        ),
        alt=f"Models in the plane of bias and volatility. {said}.",
        draw=lambda width: charts.plane(table, width=width),
        table=table,
    )


def _bases(runs: Sequence[Run], names: Sequence[str]) -> str:
    """The basis of the numbers, once if it is the same for all."""
    found = {basis(run): name for run, name in zip(runs, names, strict=True)}
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{brief(n, 40)}: {basis(r)}" for r, n in zip(runs, names, strict=True))
