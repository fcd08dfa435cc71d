"""Lean, swing and dice of repeated replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from clinometer.report.charts.look import BIAS, MARK, VOLATILITY
from clinometer.report.charts.points import Panel, points_chart
from clinometer.report.figure import Figure
from clinometer.report.figures.run_words import basis
from clinometer.runs import Run
from clinometer.runs.findings.of_models import leaning
from clinometer.runs.findings.replies import deviation
from clinometer.runs.names import context_noun, group_noun
from clinometer.statistics.estimate import with_ends


@dataclass(frozen=True)
class ReplyPart:
    """A part of what repeated replies differ by, as a page shows it."""

    title: str
    key: str
    """The column of the table, and the field of the components of a run."""

    ink: str


LEAN = ReplyPart("Steady lean", "lean", BIAS)
SWING = ReplyPart("Swing", "swing", VOLATILITY)
DICE = ReplyPart("Dice", "dice", MARK)
PARTS = (LEAN, SWING, DICE)


def parts_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return lean, swing and dice of each model as standard deviations with intervals, in points of
    the scale or percentage points; then what another group and an irrelevant edit do.

    The largest lean first; whether it is clear is decided with all models looked at.
    """
    clear = leaning(runs)
    rows: list[dict[str, Any]] = []
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        components = run.record.components
        if components is None:
            continue
        scale = run.outcome.unit.factor
        row: dict[str, Any] = {"name": name, "clear": i in clear}
        for part in PARTS:
            estimate = getattr(components, part.key)
            if estimate is not None:
                estimate = deviation(estimate, scale)
            row |= with_ends(part.key, estimate)
        placebo = run.record.placebo
        row["another_group"] = None if placebo is None else scale * placebo.groups
        row["irrelevant_edit"] = None if placebo is None else scale * placebo.edit
        rows.append(row)
    return sorted(rows, key=lambda row: -(row["lean"] or 0.0))


def parts_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    """Return lean, swing and dice of each model, a panel each; None unless all have repeated
    replies."""
    for run in runs:
        components = run.record.components
        varies = components is not None and components.total > 0
        if not varies or not run.outcome.reference.is_mean:
            return None
    table = pd.DataFrame(parts_rows(runs, names))
    first = runs[0]
    unit = first.outcome.unit
    rows = _drawn_rows(table, unit.name, unit.digits)
    drawn = pd.DataFrame(rows)
    panels = _panels(drawn, first)
    level = 100 * first.record.settings.level
    models = "" if len(runs) == 1 else f" with all {len(runs)} models looked at"
    texts = "; ".join(
        f"{row['name']}: {row['panel'].lower()} {row['text']}" for row in rows
    )
    bases = "; ".join(dict.fromkeys(basis(run) for run in runs))
    return Figure(
        key="parts",
        title="Lean, swing, dice",
        caption=(
            f"Dot: estimate. Band: {level:g} % interval. Filled: a lean that is clear{models}. "
            f"Each is a standard deviation in {unit.name}. {bases}."
        ),
        alt=f"Points with intervals. {texts}.",
        draw=lambda width: points_chart(drawn, panels=panels, width=width),
        table=table,
    )


def _drawn_rows(table: pd.DataFrame, unit: str, digits: int) -> list[dict[str, Any]]:
    """Return a row for each part of each model, as `points` takes them."""
    rows = []
    for part in PARTS:
        for row in table.dropna(subset=[part.key]).to_dict("records"):
            value = row[part.key]
            low = row[f"{part.key}_low"]
            high = row[f"{part.key}_high"]
            clear = part is not LEAN or bool(row["clear"])
            if not clear:
                # The interval of the decision, which is about all models: it ends at 0 where the
                # lean is not clear.
                low = min(low, 0.0)
            text = f"{value:.{digits}f} {unit}"
            if not pd.isna(low):
                text += f" ({low:.{digits}f} to {high:.{digits}f})"
            if not clear:
                text += "; not clear"
            rows.append(
                {
                    "name": row["name"],
                    "panel": part.title,
                    "value": value,
                    "low": low,
                    "high": high,
                    "clear": clear,
                    "text": text,
                }
            )
    return rows


def _panels(drawn: pd.DataFrame, run: Run) -> list[Panel]:
    """Return a panel for each part; lean and swing share an axis, that of dice may be longer."""
    largest = drawn[["value", "high"]].max(axis=1).groupby(drawn["panel"]).max()
    dice = float(largest.get(DICE.title, 0.0))
    shared = float(max(largest.get(LEAN.title, 0.0), largest.get(SWING.title, 0.0)))
    shared = shared or dice or 1.0
    longer = f"; axis {dice / shared:.0f} × as long" if dice > 1.5 * shared else ""
    group = group_noun(run)
    noun = context_noun(run)
    about = {
        LEAN: f"between {group}s, the same in every {noun}",
        SWING: f"between {group}s, another in another {noun}",
        DICE: f"the same request, asked again{longer}",
    }
    return [
        Panel(
            part.title,
            f"{words}, {run.outcome.unit.name}",
            part.ink,
            dice if part is DICE else shared,
        )
        for part, words in about.items()
        if part.title in largest
    ]
