"""A table of a report, and how its columns and cells are written for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from clinometer.display.numbers import between, show
from clinometer.display.text import proper
from clinometer.measure.risks import GROUP_RISKS, HEADINGS, MEASURES, SYMBOLS


def _risks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of risks and of the ends of their intervals."""
    columns = {}
    for name in names:
        columns[name] = (HEADINGS[name], "risk")
        for end in ("low", "high"):
            columns[f"{name}_{end}"] = (f"{SYMBOLS[name]} {end}", "risk")
    return columns


#: column -> (heading, kind); any other has its name, as text, and the ends of an interval are shown
#: with their value. Kinds are those of `show`.
COLUMNS: Mapping[str, tuple[str, str]] = {
    "name": ("model", "text"),
    **_risks(MEASURES),
    "n_groups": ("groups", "count"),
    "n_contexts": ("contexts", "count"),
    "n_eff": ("effective", "number"),
    "group": ("group", "text"),
    "weight": ("weight", "share"),
    **_risks(GROUP_RISKS),
    "leaning": ("leans to", "text"),
    "clear": ("clear", "text"),
    "rate": ("favourable", "share"),
    "selection_rate": ("rate", "share"),
    "missing": ("no decision", "count"),
    "mean_score": ("mean", "number"),
    "impact_ratio": ("impact ratio", "risk"),
    "rating": ("mean rating", "risk"),
    "other": ("other", "share"),
    **{part: (part, "points") for part in ("lean", "swing", "dice")},
    "from": ("before", "points"),
    "to": ("after", "points"),
    "strength": ("strength", "number"),
    "another_group": ("another group", "points"),
    "irrelevant_edit": ("irrelevant edit", "points"),
    "away": ("from the mean", "signed points"),
    "context_id": ("id", "id"),
    "template": ("context", "text"),
    "influence": ("adds to Rᵛ", "signed"),
    "share": ("share of R", "share"),
    "slope": ("slope", "slope"),
    "r_squared": ("R²", "risk"),
    "n": ("n", "count"),
    "condition": ("contexts", "text"),
    "levels": ("levels", "count"),
    "of_swing": ("share of the swing", "share"),
    "pair": ("first minus second", "text"),
    "measure": ("risk", "text"),
    "value": ("difference", "signed"),
    "difference": ("difference", "signed points"),
    "rate_difference": ("difference (points)", "signed share"),
    "low": ("low", "signed"),
    "high": ("high", "signed"),
    "p": ("p", "p"),
    "p_holm": ("p (Holm)", "p"),
    "p_corrected": ("p (corrected)", "p"),
    "p_together": ("p (all together)", "p"),
    "rank": ("rank", "count"),
    "at": ("value", "risk"),
    "R_rank": ("rank", "count"),
    "R_bias_rank": (f"rank of {SYMBOLS['R_bias']}", "count"),
    "R_volatility_rank": (f"rank of {SYMBOLS['R_volatility']}", "count"),
    **{f"printed_{m}": (f"{SYMBOLS[m]}\nprinted", "paper") for m in MEASURES},
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
    "text": ("statement", "text"),
    "source": ("benchmark", "text"),
    "statements": ("statements", "count"),
    "scored": ("scored", "count"),
    "dissimilarity": ("dissimilarity", "risk"),
    "temperature": ("temperature", "number"),
    "alpha": ("alpha", "risk"),
    "left_out": ("left out", "count"),
    "stability": ("stability", "risk"),
    "cobias": ("COBIAS", "risk"),
    "rho": ("rho", "signed"),
    "given_length": ("given length", "signed"),
    "ahead": ("first ahead by", "signed"),
    "rank_length_adjusted": ("rank at equal length", "count"),
    "dissimilarity_pairwise": ("dissimilarity of pairs", "risk"),
    "dissimilarity_to_statement": ("dissimilarity to the statement", "risk"),
    "to_fix": ("to fix", "text"),
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
    """A cell: its text, the text of its interval, and the number to sort by; `mark`: best or worst
    of its column."""

    text: str
    interval: str
    value: Any
    column: Column
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its name (a file name too), title and, if it needs one, a note.

    `as_printed` names columns that are written as the papers' tables have them: four digits, and
    the best and the worst marked, as a column of ranks tells them.
    """

    key: str
    title: str
    frame: pd.DataFrame
    note: str = ""
    hidden: tuple[str, ...] = ()
    as_printed: tuple[str, ...] = ()

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
            ends = (
                ("low", "high") if name == "value" else (f"{name}_low", f"{name}_high")
            )
            both = all(end in names and end not in self.hidden for end in ends)
            heading, kind = _about(name)
            if name in self.as_printed:
                heading, kind = SYMBOLS.get(name, heading), "paper"
            shown.append(Column(name, heading, kind, *(ends if both else (None, None))))
        return shown

    def rows(self, most: int | None = None) -> Iterator[list[Cell]]:
        """The cells of each row, in the order of `combined`."""
        columns = self.combined()
        last = {c: self.frame[f"{c}_rank"].max() for c in self.as_printed}
        for record in self.frame.head(
            len(self.frame) if most is None else most
        ).to_dict("records"):
            marks = {
                c: "best" if record[f"{c}_rank"] == 1 else "worst"
                for c in self.as_printed
                if last[c] > 1 and record[f"{c}_rank"] in (1, last[c])
            }
            yield [
                _cell(column, record, marks.get(column.name, "")) for column in columns
            ]


def _about(column: str) -> tuple[str, str]:
    if column in COLUMNS:
        return COLUMNS[column]
    if column.startswith("Δ "):
        return (column, "signed points")
    if column.startswith("leans to "):
        return (column, "signed")
    return (column, "risk" if column.startswith("p(") else "text")


def _cell(column: Column, record: Mapping[Any, Any], mark: str) -> Cell:
    value = record[column.name]
    missing = value is None or value != value
    interval = ""
    if column.low and column.high:
        low, high = record[column.low], record[column.high]
        if low is not None and high is not None and low == low and high == high:
            interval = f"{show(low, column.kind)} to {show(high, column.kind)}"
            if column.kind == "paper":
                interval = between(low, high)
    text = show(value, column.kind)
    if column.name in ("group", "leaning", "category"):
        text = proper(text)
    return Cell(text, interval, "" if missing else value, column, mark)
