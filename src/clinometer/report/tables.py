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

_YES_OR_NO = {True: "yes", False: "no"}

_RESULTS = {
    "summary",
    "plug_in",
    "counts",
    "words",
    "unmeasurable",
    "factors",
    "calibration",
}
"""The parts of run.json that are no settings."""


def risks_table(opened: Sequence[LoadedRun]) -> Table:
    """Return the models, then the reference models: R, its components, their intervals and
    basis."""
    rows: list[dict[str, Any]] = []
    named = []
    for loaded in opened:
        if loaded.run is None:
            continue
        named.append((loaded.name, loaded.run))
        name = loaded.name
        if loaded.state != "finished":
            name = f"{name} ({loaded.state})"
        row = risk_rows([loaded.run], [name])[0]
        rows.append({**row, "n_groups": len(loaded.run.risks.groups)})
    if named:
        rows += reference_rows(named[0][1])
    basis = ("name", "n_groups", "n_contexts", "n_eff")
    order = [name for name in COLUMNS if name.startswith("R") or name in basis]
    frame = pd.DataFrame(rows).reindex(columns=order).dropna(axis=1, how="all")
    return Table("risks", "Risks of the models", frame, resampling_note(named))


def parts_table(opened: Sequence[LoadedRun]) -> Table | None:
    """Return lean, swing and dice of each model that has them; None where none has."""
    runs = []
    names = []
    for loaded in opened:
        if loaded.run is not None and loaded.run.record.components is not None:
            runs.append(loaded.run)
            names.append(loaded.name)
    if not runs:
        return None
    frame = pd.DataFrame(parts_rows(runs, names))
    frame = frame.assign(clear=frame["clear"].map(_YES_OR_NO))
    frame = frame.dropna(axis=1, how="all")
    note = (
        f"In {runs[0].outcome.unit.name}: lean and swing are standard deviations between groups, "
        "dice within one request."
    )
    if "irrelevant_edit" in frame:
        note += " Another group and an irrelevant edit: how far two answers differ, without dice."
    return Table("parts", "Lean, swing, dice", frame, note)


def distances_table(run: Run) -> Table:
    """Return how far each group is from what all groups get in the same context, the lowest
    first."""
    frame = distances(run).drop(columns="panel")
    frame = frame.assign(clear=frame["clear"].map(_YES_OR_NO))
    note = f"In {run.outcome.unit.name} from what all groups get in the same context."
    return Table("distances", "Groups by their distance from the mean", frame, note)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return differences overall, ranks, and the groups where models differ most clearly."""
    pairs = pd.DataFrame(map(_difference_row, comparison.overall))
    ranks = pd.DataFrame(
        [
            {
                "name": rank.model,
                "measure": HEADINGS.get(rank.measure, rank.measure),
                "at": rank.value,
                "rank": rank.rank,
                "ranks left open": f"{rank.low}"
                if rank.low == rank.high
                else f"{rank.low} to {rank.high}",
            }
            for rank in comparison.ranks
        ]
    )
    by_group = sorted(
        (d for d in comparison.by_group if d.value is not None), key=_clearest_first
    )
    rank_note = "Rank 1 is the lowest risk; open are the ranks that the tests of the pairs allow."
    return [
        Table("differences", "Paired differences", pairs),
        Table("ranks", "Ranks", ranks, rank_note),
        Table(
            "group-differences",
            "Differences by group",
            pd.DataFrame(map(_difference_row, by_group)),
        ),
    ]


def _clearest_first(d: Difference) -> tuple[float, float]:
    """Return by what differences are ordered: the smallest p first, then the largest."""
    return np.inf if d.p is None else d.p, -abs(d.value or 0.0)


def _difference_row(d: Difference) -> dict[str, Any]:
    group = {} if d.group is None else {"group": d.group}
    return {
        "pair": f"{d.a} − {d.b}",
        **group,
        "measure": HEADINGS.get(d.measure, d.measure),
        "value": d.value,
        "low": d.low,
        "high": d.high,
        "p": d.p,
        "p_corrected": d.p_corrected,
    }


def groups_table(run: Run) -> Table:
    """Return the groups, the highest risk first; without weights that are all alike."""
    clear = [_YES_OR_NO[lean.category is not None] for lean in run.leans]
    frame = pd.DataFrame(answered_groups(run)).assign(clear=clear)
    if frame["weight"].nunique() <= 1:
        frame = frame.drop(columns="weight")
    frame = frame[[name for name in COLUMNS if name in frame.columns]]
    frame = frame.sort_values("r", ascending=False, na_position="last")
    frame = frame.dropna(axis=1, how="all").reset_index(drop=True)
    return Table("groups", "Groups", frame)


def contexts_table(cells: CellStatistics) -> Table:
    """Return every context with its weight, its pull to each category and its effect on
    volatility."""
    p = cells.run.preferences
    weights = p.context_weights
    if weights.ndim > 1:  # groups differ in the weights of a context
        weights = weights.mean(axis=0)
    columns = {
        "context_id": p.contexts,
        "template": p.templates or p.contexts,
        "weight": weights / weights.sum(),
    }
    categories = p.categories[:1] if len(p.categories) == 2 else p.categories
    for y, name in enumerate(categories):
        columns[f"leans to {name}"] = cells.context_mean[:, y]
    frame = pd.DataFrame({**columns, "influence": p.influence()})
    frame = frame.sort_values("weight", ascending=False, kind="stable")
    frame = frame.reset_index(drop=True)
    return Table("contexts", "Contexts", frame, "Leaning: mean of s over the groups.")


def cells_table(cells: CellStatistics) -> Table:
    """Return the cells that make up most of R."""
    return Table(
        "cells",
        "The answers that weigh most",
        cells.weighty_cells(),
        hidden=("context_id", "template"),
    )


def factors_table(run: Run) -> Table | None:
    """Return what makes the answers swing: the share of each factor; None where there are no
    factors."""
    record = run.record.factors
    if record is None:
        return None
    rows: list[dict[str, Any]] = []
    for factor in record.factors:
        share = with_ends("of_swing", factor.share)
        rows.append({"factor": factor.name, "levels": factor.n_levels, **share})
    rest = with_ends("of_swing", record.rest)
    rows.append({"factor": "none of them alone", "levels": None, **rest})
    frame = pd.DataFrame(rows).dropna(axis=1, how="all")
    notes = factor_notes(record, clusters=run.record.settings.clusters)
    note = " ".join([resampled(record), *notes])
    return Table("factors", "Shares of the swing", frame, note)


def flags_table(run: Run) -> Table:
    """Return every flag of the cells with its count."""
    rows = [(name.replace("_", " "), n) for name, n in run.record.counts.items()]
    frame = pd.DataFrame(rows, columns=["flag", "count"])
    return Table("flags", "Every flag, counted", frame)


def settings_table(content: Mapping[str, Any]) -> Table:
    """Return settings passed and defaulted, versions, hashes: all of run.json except the
    results."""
    rows: list[tuple[str, str]] = []
    for part, value in content.items():
        if part not in _RESULTS:
            rows += _flat(part, value)
    frame = pd.DataFrame(rows, columns=["setting", "is"])
    return Table("settings", "Settings, versions and hashes", frame)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Return a part of run.json as rows; the parts within it have its name before theirs."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(map(_setting, value)) or "none"
    else:
        yield name, _setting(value)


def _setting(value: Any) -> str:
    """Return a value of run.json, which has every digit."""
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
