"""clinometer risk: the risks of any table of preferences; no model needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import (
    CLUSTER,
    FAIL_ABOVE,
    JSON,
    LEVEL,
    NORM,
    RAW,
    REPLICATES,
    TWO_WAY,
    parse_limits,
    parse_norm,
)
from clinometer.cli.printing import console, exceeded, print_json, risk_table
from clinometer.cli.table import TerminalTable
from clinometer.errors import SettingsError, TableError


def risk_command(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A csv or parquet file with the columns group, context, attribute, p and, if "
            "wanted, context_weight, group_weight, reference.",
        ),
    ],
    norm: NORM = "inf",
    raw: RAW = False,
    replicates: REPLICATES = 2000,
    level: LEVEL = 0.95,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the bootstrap.")] = 0,
    cluster: CLUSTER = None,
    two_way: TWO_WAY = False,
    fail_above: FAIL_ABOVE = None,
    json_output: JSON = False,
) -> None:
    """Split the risk in a table of preferences into bias and volatility."""
    from clinometer.measure import verdict
    from clinometer.runs import read_table

    limits = parse_limits(fail_above)
    k = parse_norm(norm)
    preferences = read_table(table, labels=() if cluster is None else (cluster,))
    try:
        if replicates == 0:
            report = preferences.decompose(norm=k, normalize=not raw)
        else:
            report = preferences.estimate(
                norm=k,
                normalize=not raw,
                replicates=replicates,
                level=level,
                seed=seed,
                clusters=cluster,
                two_way=two_way,
            )
    except SettingsError as error:  # the options are in range: what is wrong is in the table
        raise TableError(f"{table}: {error}") from error
    if json_output:
        print_json({**report.to_dict(), "verdict": verdict(report)})
    else:
        reference = preferences.reference
        shared = reference if reference is not None and reference.ndim == 1 else None
        known = len(preferences.categories) if shared is None else shared
        title = f"{table.name}: {len(report.groups)} groups, {len(report.categories)} categories"
        risk_table([(table.stem, report)], title=title, reference=known).print(console())
        groups = TerminalTable().add_text("group").add_numbers("r", "rᵇ", "rᵛ").add_text("leans to")
        for row in report.groups_table():
            cells = [
                "missing" if row[k] is None else f"{row[k]:.3f}"
                for k in ("r", "r_bias", "r_volatility")
            ]
            groups.add_row(row["group"], *cells, row["leaning"] or "–")
        groups.print(console())
        console().print(verdict(report), soft_wrap=True)
        if report.missing_cells:
            console().print(f"{report.missing_cells} cells are missing")
    above = exceeded(table.name, report, limits)
    for line in above:
        sys.stderr.write(f"clinometer: {line}\n")
    if above:
        raise typer.Exit(1)
