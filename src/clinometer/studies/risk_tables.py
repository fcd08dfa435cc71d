"""Tables 1 to 3 and 5: risks of models next to the printed ones, and why they differ."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

from clinometer.display.numbers import MEASURES
from clinometer.models.catalog.suites import suite
from clinometer.report import Figure, Table, charts
from clinometer.report.figure import chart
from clinometer.report.figures import basis, reference_rows
from clinometer.runs import Run
from clinometer.studies.framework import (
    Findings,
    Results,
    about,
    only,
    risks,
)


class _Part(NamedTuple):
    """A printed table: its topic, its title, and whether the reference models are in it."""

    topic: str
    title: str
    references: bool = False


#: study -> the printed tables it is compared with
PARTS = {
    "table1": {"table1": _Part("gender", "Table 1: gender", references=True)},
    "table2": {"table2": _Part("race", "Table 2: race", references=True)},
    "table3": {
        "table3-religion": _Part("religion", "Table 3: religion"),
        "table3-disability": _Part("disability", "Table 3: disability"),
    },
    "table5": {"table5": _Part("gender-zh", "Table 5: gender in Chinese")},
}

#: Why our figures differ from the printed ones, even for the same model.
DIFFERENCES = (
    "Words: the released code drops words of several tokens, and looks words up without the "
    "leading space; here every word counts, by the chain rule. `--single-token` drops them here "
    "too.",
    "Position: the released code reads the last position of right-padded batches, which for the "
    "shorter prompts of a batch is padding; here the slot is read.",
    "Contexts: the paper uses thousands of mined contexts; it prints ten of them, which are "
    "the default here (paper-gender, paper-race); `--contexts wikipedia` has mined ones.",
    "Criterion: the equations take the largest positive part of s. The released code takes the sum "
    "of them over 5 for race: `--criterion released`, which is the scale of Table 3 (religion, "
    "disability) but not of Table 2. For gender it counts only the side of the mean, which halves "
    "the volatility risk.",
    "Scale: with K categories J reaches K - 1; the tables put the stereotyped model at 1 for K = 5 "
    "as well, so risks are divided by that maximum here.",
)


@dataclass(frozen=True)
class Printed:
    """One row of a table: R, R^b and R^v as printed."""

    table: str
    model: str
    R: float
    R_bias: float
    R_volatility: float

    @property
    def adds_up(self) -> bool:
        """Whether R = R^b + R^v within the rounding of four digits."""
        return abs(self.R - self.R_bias - self.R_volatility) <= 1.51e-4


@cache
def printed() -> dict[str, tuple[Printed, ...]]:
    """The rows of each printed table, in its order.

    >>> list(printed())[:2], printed()["table1"][0].model, printed()["table1"][0].R
    (['table1', 'table2'], 'T5', 0.8703)
    """
    text = (files("clinometer.studies") / "data" / "published.toml").read_text("utf-8")
    return {
        table: tuple(Printed(table, model, *values) for model, values in about["models"].items())
        for table, about in tomllib.loads(text).items()
    }


def table_findings(results: Results, *, study: str) -> Findings:
    """Ours beside the printed figures, in the layout of the printed table, and why they differ."""
    tables: list[Table] = []
    figures: list[Figure] = []
    columns = [*MEASURES, *(f"printed_{m}" for m in MEASURES)]
    ends = [f"{m}_{end}" for m in MEASURES[1:] for end in ("low", "high")]
    for key, part in PARTS[study].items():
        named = only(results, key)
        if not named:
            continue
        both = _beside(study, key, named)
        odd = [row.model for row in printed()[key] if not row.adds_up]
        note = f" As printed, R is not the sum of its parts for {', '.join(odd)}." if odd else ""
        tables.append(
            Table(
                key,
                f"{part.title}, measured here and as printed",
                both.drop(columns=["muted"]),
                f"Worst: bold; best: underlined italic. Under R its interval; the csv file has "
                f"those of Rᵇ and Rᵛ.{note}",
                hidden=("n_contexts", "n_eff", *ends, *(f"{c}_rank" for c in columns)),
                as_printed=tuple(columns),
            )
        )
        figures.append(_figure(key, part.title, both, basis(named[0][1])))
    why = ["Why a figure here is not the printed one:", *DIFFERENCES]
    return Findings(study, tables, figures, [run for _, run in results], why)


def _beside(study: str, key: str, named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """The reference models, then the rows of the printed table in its order, then further models;
    a model of the table goes by its name there or by its id."""
    theirs = pd.DataFrame(list(printed()[key])).rename(columns={"model": "name"})
    for measure in MEASURES:
        theirs[f"{measure}_rank"] = theirs[measure].rank(method="min")
    numbers = [c for m in MEASURES for c in (m, f"{m}_rank")]
    theirs = theirs[["name", *numbers]].rename(columns={c: f"printed_{c}" for c in numbers})
    ids = {entry.id: entry.name for entry in suite(about(study).suite)}
    ours = risks([(ids.get(name, name), run) for name, run in named])
    both = theirs.merge(ours, on="name", how="left")
    others = ours[~ours["name"].isin(theirs["name"])].iloc[::-1]
    references = pd.DataFrame(reference_rows(named[0][1]))
    if PARTS[study][key].references:
        columns = [f"printed_{m}" for m in MEASURES]
        as_printed = pd.DataFrame([[0.0, 0, 0], [1, 1, 0], [1, 0, 1]], columns=columns)
        references = references.join(as_printed)
    order = ["name", *(c for c in ours if c != "name"), *theirs.columns[1:]]
    rows = pd.concat([references, both, others], ignore_index=True)[order]
    return rows.assign(muted=rows["muted"].eq(True))


def _figure(key: str, title: str, both: pd.DataFrame, measured: str) -> Figure:
    theirs = both[["name", *(f"printed_{m}" for m in MEASURES)]].dropna()
    theirs = theirs.rename(columns={f"printed_{m}": m for m in MEASURES})
    pale = theirs.assign(name=theirs["name"] + " (published)", muted=True, pale=True)
    ours = both.dropna(subset=["R"]).sort_values(["muted", "R"], kind="stable")
    ours = ours.assign(pale=ours["muted"])
    table = pd.concat([ours, pale.sort_values("R", kind="stable")], ignore_index=True)
    return chart(
        key,
        f"{title}, measured here and as published (pale)",
        f"{measured}. Bands: intervals over contexts. Published figures carry the released "
        "code's single-token words and padding; see the notes.",
        table,
        "{name} R {R:.3f}",
        charts.risks,
    )
