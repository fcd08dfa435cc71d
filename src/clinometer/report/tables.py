"""Every table of a report: on the page and in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.measure import Comparison
from clinometer.measure.differences import Difference
from clinometer.measure.risks import HEADINGS
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.figures.distances import distances
from clinometer.report.figures.models import reference_rows, risk_rows
from clinometer.report.figures.parts import parts_rows
from clinometer.runs import Run
from clinometer.runs.answers import answered_groups
from clinometer.runs.findings.factors import factor_notes, resampled
from clinometer.runs.folder.recover import LoadedRun
from clinometer.runs.several_runs import resampling_note
from clinometer.statistics.estimate import with_ends
from clinometer.tables import COLUMNS, Table


def risks_table(opened: Sequence[LoadedRun]) -> Table:
    """The models, then the reference models: R, its components, their intervals and basis."""
    rows: list[dict[str, Any]] = []
    for one in opened:
        if one.run is not None:
            row = risk_rows([one.run], [one.name])[0]
            name = one.name if one.state == "finished" else f"{one.name} ({one.state})"
            rows.append({**row, "name": name, "n_groups": len(one.run.risks.groups)})
    first = next((one.run for one in opened if one.run is not None), None)
    if first is not None:
        rows += reference_rows(first)
    order = [
        c
        for c in COLUMNS
        if c.startswith("R") or c in ("name", "n_groups", "n_contexts", "n_eff")
    ]
    frame = pd.DataFrame(rows).reindex(columns=order).dropna(axis=1, how="all")
    note = resampling_note(
        [(one.name, one.run) for one in opened if one.run is not None]
    )
    return Table("risks", "Risks of the models", frame, note)


def parts_table(opened: Sequence[LoadedRun]) -> Table | None:
    """Lean, swing and dice of each model that has them; None where none has."""
    runs = [(one.run, one.name) for one in opened if one.run is not None]
    runs = [(run, name) for run, name in runs if run.record.components is not None]
    if not runs:
        return None
    frame = pd.DataFrame(
        parts_rows([run for run, _ in runs], [name for _, name in runs])
    )
    frame = frame.assign(clear=frame["clear"].map({True: "yes", False: "no"}))
    frame = frame.dropna(axis=1, how="all")
    unit = runs[0][0].outcome.unit.name
    note = (
        f"In {unit}: lean and swing are standard deviations between groups, dice within one "
        "request."
    )
    if "irrelevant_edit" in frame:
        note += " Another group and an irrelevant edit: how far two answers differ, without dice."
    return Table("parts", "Lean, swing, dice", frame, note)


def distances_table(run: Run) -> Table:
    """How far each group is from what all groups get in the same context, the lowest first."""
    frame = distances(run).drop(columns="panel")
    frame = frame.assign(clear=frame["clear"].map({True: "yes", False: "no"}))
    note = f"In {run.outcome.unit.name} from what all groups get in the same context."
    return Table("distances", "Groups by their distance from the mean", frame, note)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Differences overall, ranks, and the groups where models differ most clearly."""
    pairs = pd.DataFrame([_difference(d) for d in comparison.overall])
    ranks = pd.DataFrame(
        [
            {
                "name": r.model,
                "measure": HEADINGS.get(r.measure, r.measure),
                "at": r.value,
                "rank": r.rank,
                "ranks left open": f"{r.low}"
                if r.low == r.high
                else f"{r.low} to {r.high}",
            }
            for r in comparison.ranks
        ]
    )
    sizes = [
        (d.p, -abs(d.value), d) for d in comparison.by_group if d.value is not None
    ]
    sizes.sort(key=lambda one: (np.inf if one[0] is None else one[0], one[1]))
    groups = pd.DataFrame([_difference(d) for *_, d in sizes])
    rank_note = "Rank 1 is the lowest risk; open are the ranks that the tests of the pairs allow."
    return [
        Table("differences", "Paired differences", pairs),
        Table("ranks", "Ranks", ranks, rank_note),
        Table("group-differences", "Differences by group", groups),
    ]


def _difference(d: Difference) -> dict[str, Any]:
    return {
        "pair": f"{d.a} − {d.b}",
        **({} if d.group is None else {"group": d.group}),
        "measure": HEADINGS.get(d.measure, d.measure),
        **{
            name: getattr(d, name)
            for name in ("value", "low", "high", "p", "p_corrected")
        },
    }


def groups_table(run: Run) -> Table:
    clear = ["no" if lean.category is None else "yes" for lean in run.leans]
    frame = pd.DataFrame(answered_groups(run)).assign(clear=clear)
    order = [c for c in COLUMNS if c in frame.columns]
    frame = frame[order].sort_values("r", ascending=False, na_position="last")
    uniform = frame["weight"].nunique() <= 1
    frame = frame.drop(columns=["weight"] if uniform else []).dropna(axis=1, how="all")
    return Table("groups", "Groups", frame.reset_index(drop=True))


def contexts_table(cells: CellStatistics) -> Table:
    """Every context with its weight, its pull to each category and its effect on volatility."""
    p = (
        cells.run.preferences
    )  # the weights of a context: their mean where groups differ in them
    w = (
        p.context_weights
        if p.context_weights.ndim == 1
        else p.context_weights.mean(axis=0)
    )
    shown = p.categories[:1] if len(p.categories) == 2 else p.categories
    columns = {"context_id": p.contexts, "template": p.templates or p.contexts}
    leans = {
        f"leans to {name}": cells.context_mean[:, y] for y, name in enumerate(shown)
    }
    frame = pd.DataFrame(
        {**columns, "weight": w / w.sum(), **leans, "influence": p.influence()}
    )
    frame = frame.sort_values("weight", ascending=False, kind="stable").reset_index(
        drop=True
    )
    return Table("contexts", "Contexts", frame, "Leaning: mean of s over the groups.")


def cells_table(cells: CellStatistics) -> Table:
    return Table(
        "cells",
        "The answers that weigh most",
        cells.weighty_cells(),
        hidden=("context_id", "template"),
    )


def factors_table(run: Run) -> Table | None:
    """What makes the answers swing: the share of each factor; None where there are no factors."""
    found = run.record.factors
    if found is None:
        return None
    rows: list[dict[str, Any]] = [
        {"factor": f.name, "levels": f.n_levels, **with_ends("of_swing", f.share)}
        for f in found.factors
    ]
    rest = with_ends("of_swing", found.rest)
    rows.append({"factor": "none of them alone", "levels": None, **rest})
    frame = pd.DataFrame(rows).dropna(axis=1, how="all")
    notes = [
        resampled(found),
        *factor_notes(found, clusters=run.record.settings.clusters),
    ]
    return Table("factors", "Shares of the swing", frame, " ".join(notes))


def flags_table(run: Run) -> Table:
    counts = {k.replace("_", " "): v for k, v in run.record.counts.items()}
    frame = pd.DataFrame(counts.items(), columns=["flag", "count"])
    return Table("flags", "Every flag, counted", frame)


def settings_table(content: Mapping[str, Any]) -> Table:
    """Settings passed and defaulted, versions, hashes: all of run.json except the results."""
    skip = {
        "summary",
        "plug_in",
        "counts",
        "words",
        "unmeasurable",
        "factors",
        "calibration",
    }
    rows = [
        (key, value)
        for part in content
        if part not in skip
        for key, value in _flat(part, content[part])
    ]
    return Table(
        "settings",
        "Settings, versions and hashes",
        pd.DataFrame(rows, columns=["setting", "is"]),
    )


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(map(_setting, value)) or "none"
    else:
        yield name, _setting(value)


def _setting(value: Any) -> str:
    """A value of run.json, which has every digit."""
    return (
        "none"
        if value is None
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )
