"""Every table of a report, once: the page, Markdown, LaTeX and CSV all show these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tiltmeter.measure import Comparison
from tiltmeter.report.figures import reference_rows, risk_rows
from tiltmeter.report.opening import Opened, stored_risks
from tiltmeter.report.reading import Reading
from tiltmeter.runs import Run

#: column -> (heading, kind). Kinds: text, id, risk, signed, share, count, number, p.
COLUMNS: Mapping[str, tuple[str, str]] = {
    "name": ("model", "text"),
    "state": ("state", "text"),
    "R": ("R", "risk"),
    "R_low": ("R low", "risk"),
    "R_high": ("R high", "risk"),
    "R_bias": ("Rᵇ bias", "risk"),
    "R_bias_low": ("Rᵇ low", "risk"),
    "R_bias_high": ("Rᵇ high", "risk"),
    "R_volatility": ("Rᵛ volatility", "risk"),
    "R_volatility_low": ("Rᵛ low", "risk"),
    "R_volatility_high": ("Rᵛ high", "risk"),
    "n_groups": ("groups", "count"),
    "n_contexts": ("contexts", "count"),
    "n_eff": ("effective", "number"),
    "group": ("group", "text"),
    "weight": ("weight", "share"),
    "r": ("r", "risk"),
    "r_low": ("r low", "risk"),
    "r_high": ("r high", "risk"),
    "r_bias": ("rᵇ bias", "risk"),
    "r_bias_low": ("rᵇ low", "risk"),
    "r_bias_high": ("rᵇ high", "risk"),
    "r_volatility": ("rᵛ volatility", "risk"),
    "r_volatility_low": ("rᵛ low", "risk"),
    "r_volatility_high": ("rᵛ high", "risk"),
    "leaning": ("leans to", "text"),
    "context_id": ("id", "id"),
    "template": ("context", "text"),
    "sentence": ("sentence", "text"),
    "influence": ("adds to Rᵛ", "signed"),
    "pull": ("pull", "signed"),
    "share": ("share of R", "share"),
    "pair": ("first minus second", "text"),
    "measure": ("risk", "text"),
    "value": ("difference", "signed"),
    "low": ("low", "signed"),
    "high": ("high", "signed"),
    "p": ("p", "p"),
    "p_holm": ("p (Holm)", "p"),
    "rank": ("rank", "count"),
    "at": ("value", "risk"),
    "R_rank": ("rank", "count"),
    "R_bias_rank": ("rank of Rᵇ", "count"),
    "R_volatility_rank": ("rank of Rᵛ", "count"),
    "published": ("R published", "risk"),
    "models": ("models", "count"),
    "groups": ("groups", "count"),
    "facts": ("facts", "count"),
    "knowledge": ("knowledge", "risk"),
    "deterministic": ("deterministic", "risk"),
    "confidence_loss": ("loss", "risk"),
    "accuracy": ("right first", "share"),
    "chance": ("chance", "risk"),
    "s_before": ("s before", "signed"),
    "s_after": ("s after", "signed"),
    "mean": ("mean", "risk"),
    "sd": ("sd", "risk"),
    "skewness": ("skewness", "signed"),
    "excess_kurtosis": ("kurtosis", "signed"),
    "p_normal": ("p normal", "p"),
    "p_fat_tail": ("p fat tail", "p"),
    "tail_index": ("tail index", "number"),
    "tau": ("Kendall's τ", "signed"),
    "flag": ("what", "text"),
    "count": ("count", "count"),
    "setting": ("setting", "text"),
    "is": ("value", "text"),
}


class Column(NamedTuple):
    """A column as people read it; low and high name the columns of its interval."""

    name: str
    heading: str
    kind: str
    low: str | None = None
    high: str | None = None

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "id")


class Cell(NamedTuple):
    """A cell: its text, the text of its interval, and the number to sort by."""

    text: str
    interval: str
    value: Any
    column: Column


#: How the risks are written for people.
MEASURES = {
    "R": "R",
    "R_bias": "Rᵇ bias",
    "R_volatility": "Rᵛ volatility",
    "r": "r",
    "r_bias": "rᵇ bias",
    "r_volatility": "rᵛ volatility",
}


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its name (a file name too), title and, if it needs one, a note."""

    key: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    hidden: tuple[str, ...] = ()

    def combined(self) -> list[Column]:
        """The columns as people read them: a value and its interval are one, ids are left out."""
        names = [str(c) for c in self.frame.columns]
        shown = []
        for name in names:
            base = name.removesuffix("_low").removesuffix("_high")
            inside = (name != base and base in names) or (
                name in ("low", "high") and "value" in names
            )
            if inside or name in self.hidden:
                continue
            ends = ("low", "high") if name == "value" else (f"{name}_low", f"{name}_high")
            both = all(end in names for end in ends)
            shown.append(Column(name, *_about(name), *(ends if both else (None, None))))
        return shown

    def rows(self, most: int | None = None) -> Iterator[list[Cell]]:
        """The cells of each row, in the order of `combined`."""
        columns = self.combined()
        for record in self.frame.head(len(self.frame) if most is None else most).to_dict("records"):
            yield [_cell(column, record) for column in columns]


def _about(column: str) -> tuple[str, str]:
    if column in COLUMNS:
        return COLUMNS[column]
    return (column, "risk" if column.startswith("p(") else "text")


def _cell(column: Column, record: Mapping[Any, Any]) -> Cell:
    value = record[column.name]
    missing = value is None or value != value
    interval = ""
    if column.low and column.high:
        low, high = record[column.low], record[column.high]
        if low is not None and high is not None and low == low and high == high:
            interval = f"{show(low, column.kind)} to {show(high, column.kind)}"
    return Cell(show(value, column.kind), interval, "" if missing else value, column)


def show(value: Any, kind: str) -> str:
    """A value as people read it; a dash where there is none."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if kind == "text" or kind == "id" or isinstance(value, str):
        return str(value)
    if kind == "count":
        return f"{int(value):,}"
    if kind == "share":
        return f"{100 * value:.1f} %" if value >= 0.01 else f"{100 * value:.2g} %"
    if kind == "signed":
        return f"{value:+.3f}".replace("-", "−")
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if kind == "number":
        return f"{value:,.1f}"
    return f"{value:.3f}"


# --- tables of several runs -------------------------------------------------------------------


def risks_table(opened: Sequence[Opened]) -> Table:
    """The models, then the reference models: R, its parts, their intervals, what they rest on."""
    rows: list[dict[str, Any]] = []
    for one in opened:
        if one.run is not None:
            row = risk_rows([one.run], [one.name])[0]
            rows.append({**row, "n_groups": len(one.run.report.groups)})
        elif one.groups is not None:
            rows.append({"name": one.name, **stored_risks(one.groups), "n_groups": len(one.groups)})
        if one.state != "finished" and one.showable:
            rows[-1]["name"] = f"{one.name} ({one.state})"
    first = next((one.run for one in opened if one.run is not None), None)
    if first is not None:
        rows += reference_rows(first)
    order = [
        c for c in COLUMNS if c.startswith("R") or c in ("name", "n_groups", "n_contexts", "n_eff")
    ]
    frame = pd.DataFrame(rows).reindex(columns=order).dropna(axis=1, how="all")
    return Table("risks", "Risks of the models", frame)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Differences overall, ranks, and the groups where models differ most surely."""
    pairs = pd.DataFrame(
        [
            {
                "pair": f"{d.a} − {d.b}",
                "measure": MEASURES.get(d.measure, d.measure),
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "p": d.p,
                "p_holm": d.p_holm,
            }
            for d in comparison.overall
        ]
    )
    ranks = pd.DataFrame(
        [
            {
                "name": r.model,
                "measure": MEASURES.get(r.measure, r.measure),
                "at": r.value,
                "rank": r.rank,
                **{f"p(rank {i + 1})": p for i, p in enumerate(r.probability)},
            }
            for r in comparison.ranks
        ]
    )
    groups = pd.DataFrame(
        [
            {
                "pair": f"{d.a} − {d.b}",
                "group": d.group,
                "measure": MEASURES.get(d.measure, d.measure),
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "p": d.p,
                "p_holm": d.p_holm,
            }
            for d in comparison.by_group
            if d.value is not None
        ]
    )
    if len(groups):
        groups = groups.sort_values("p", na_position="last", kind="stable").reset_index(drop=True)
    rank_note = "Rank 1 is the lowest risk; p(rank k) is the probability of that rank."
    return [
        Table("differences", "Paired differences", pairs),
        Table("ranks", "Ranks", ranks, rank_note),
        Table("group-differences", "Differences by group", groups),
    ]


# --- tables of one run ------------------------------------------------------------------------


def groups_table(run: Run) -> Table:
    frame = pd.DataFrame(run.report.groups_table())
    order = [c for c in COLUMNS if c in frame.columns]
    frame = frame[order].sort_values("r", ascending=False, na_position="last")
    uniform = frame["weight"].nunique() <= 1
    frame = frame.drop(columns=["weight"] if uniform else []).dropna(axis=1, how="all")
    return Table("groups", "Groups", frame.reset_index(drop=True))


def contexts_table(reading: Reading) -> Table:
    """Every context with its weight, its pull to each category and what it adds to the swing."""
    from tiltmeter.measure import context_influence
    from tiltmeter.report.reading import _context_weights

    run, p = reading.run, reading.run.preferences
    influence = context_influence(
        p.values,
        context_weights=p.context_weights,
        group_weights=p.group_weights,
        reference=p.reference,
        mask=p.observed,
        norm=run.report.norm,
        normalize=run.report.normalized,
    )
    frame = pd.DataFrame(
        {
            "context_id": p.contexts,
            "template": p.templates or p.contexts,
            "weight": _context_weights(run),
        }
    )
    shown = p.categories[:1] if len(p.categories) == 2 else p.categories
    for y, category in enumerate(p.categories):
        if category in shown:
            frame[f"leans to {category}"] = reading.context_mean[:, y]
    frame["influence"] = influence
    frame = frame.sort_values("weight", ascending=False, kind="stable").reset_index(drop=True)
    return Table("contexts", "Contexts", frame, "Leaning: mean of s over the groups.")


def telling_tables(reading: Reading) -> list[Table]:
    """The ten most telling contexts each way."""
    note = (
        "Pull: mean over the groups of how far answers lean this way in this context, 0 as the "
        "reference, 1 the extreme. Group: the one that goes furthest."
    )
    return [
        Table(f"contexts-{i + 1}", f"Contexts {way}", frame, note, hidden=("context_id",))
        for i, (way, frame) in enumerate(reading.telling_contexts())
    ]


def cells_table(reading: Reading) -> Table:
    return Table(
        "cells",
        "The answers that weigh most",
        reading.weighty_cells(),
        hidden=("context_id", "template"),
    )


def flags_table(run: Run) -> Table:
    counts = {k.replace("_", " "): v for k, v in run.record.get("counts", {}).items()}
    frame = pd.DataFrame({"flag": list(counts), "count": list(counts.values())})
    return Table("flags", "Every flag, counted", frame)


def settings_table(record: Mapping[str, Any]) -> Table:
    """Settings passed and defaulted, versions, hashes: all of run.json but the results."""
    skip = {"summary", "corrected", "counts", "words", "verdict"}
    rows = [
        (key, value)
        for part in record
        if part not in skip
        for key, value in _flat(part, record[part])
    ]
    return Table(
        "settings", "Settings, versions and hashes", pd.DataFrame(rows, columns=["setting", "is"])
    )


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(str(v) for v in value) or "none"
    else:
        yield name, "none" if value is None else str(value)
