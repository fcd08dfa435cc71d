"""clinometer risk: the risks of any table of preferences; no model needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from clinometer.cli.gates import FAIL_ABOVE, FAIL_ON, exceeded, fail, parse_limits
from clinometer.cli.option import JSON
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import console, print_json, risk_table
from clinometer.cli.table import TerminalTable
from clinometer.errors import SettingsError, TableError
from clinometer.measure import verdict
from clinometer.measure.inference.target import in_words
from clinometer.runs import AuditSettings, read_table
from clinometer.runs.group_sentences import split_sentence
from clinometer.runs.settings import INFERENCE


@grouped
def risk_command(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A csv or parquet file with the columns group, context, attribute and p; "
            "optionally context_weight, group_weight and reference.",
        ),
    ],
    *,
    settings: Annotated[AuditSettings, INFERENCE],
    fail_above: FAIL_ABOVE = None,
    fail_on: FAIL_ON = "low",
    json_output: JSON = False,
) -> None:
    """Split the risk of any table of preferences into bias and volatility; no model is needed."""
    limits = parse_limits(fail_above, fail_on)
    preferences = read_table(
        table, labels=() if settings.clusters is None else (settings.clusters,)
    )
    try:
        if settings.replicates == 0:
            report = preferences.decompose(**settings.scaling)
        else:
            report = preferences.estimate(**settings.inference())
    except SettingsError as error:  # the options are in range: the table cannot answer them
        raise TableError(f"{table}: {error}") from error
    if json_output:
        print_json({**report.to_dict(), "target": settings.target, "verdict": verdict(report)})
    else:
        reference = preferences.reference
        given = reference if isinstance(reference, np.ndarray) else None
        shared = given if given is not None and given.ndim == 1 else None
        known = len(preferences.categories) if shared is None else shared
        title = (
            f"{table.name}: {len(report.groups)} groups, {len(report.categories)} categories; "
            f"{in_words(report.R, settings.target)}"
        )
        risk_table([(table.stem, report)], title=title, reference=known).print(console())
        groups = TerminalTable().add_text("group").add_numbers("r", "rᵇ", "rᵛ").add_text("leans to")
        for row in report.groups_table():
            cells = [
                "missing" if row[k] is None else f"{row[k]:.3f}"
                for k in ("r", "r_bias", "r_volatility")
            ]
            groups.add_row(row["group"], *cells, row["leaning"] or "–")
        groups.print(console())
        if split := split_sentence(report):
            console().print(f"{split[0].upper()}{split[1:]}.", soft_wrap=True)
        console().print(verdict(report), soft_wrap=True)
        if report.missing_cells:
            console().print(f"{report.missing_cells} cells are missing")
    fail(exceeded(table.name, report, limits, fail_on))
