"""clinometer reliability blanks: which context-addition point matters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import SEED, grouped
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    VariantsOption,
    asked_models,
    plain_rows,
    read_statements,
    write_frame,
)
from clinometer.cli.table import TerminalTable
from clinometer.reliability import ReliabilitySettings, read_variants
from clinometer.reliability.blanks.contribution import blank_contributions


@grouped
def blanks_command(
    sources: StatementsArgument,
    variants: VariantsOption,
    models: ModelsOption = None,
    out: Annotated[Path | None, opt("Run folder; written as it goes, and resumed.")] = None,
    table: Annotated[Path | None, opt("Write one row per blank: a .csv or .parquet file.")] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: SEED = 0,
    *,
    settings: Annotated[ReliabilitySettings, "variant", "versions", "device"],
    top: Annotated[int, opt("Number of blanks to show.", allowed=ranges.COUNT_OR_0)] = 10,
    fresh: Annotated[
        bool, opt("Start over instead of resuming the run in --out.", "--fresh")
    ] = False,
    json_output: JSON = False,
) -> None:
    """Score each blank of a statement by itself: the context variance it adds, and its share.

    Statements need a column context_points with blanks (___).
    """
    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    asked = asked_models(models)
    loading = f"loading {', '.join(asked)}"
    with progress("scoring", unit="texts", start=loading, kept=Kept(out)) as watch:
        found = blank_contributions(
            statements,
            read_variants(variants),
            models=asked,
            settings=replace(settings, replicates=0),
            out=out,
            fresh=fresh,
            progress=watch,
        )
    if table is not None:
        write_frame(found.table, table)
    if json_output:
        print_json({"summary": found.counts, "blanks": plain_rows(found.table)})
        return
    rows = TerminalTable("Blanks that matter most").add_text("id")
    rows.add_numbers("blank", "cv", "share").add_text("after")
    row: Any
    for row in found.table.head(top).itertuples():
        share = f"{row.share:.0%}" if row.share == row.share and row.share is not None else "–"
        rows.add_row(row.id, row.blank, f"{row.cv:.2f}", share, f"{row.before} ___")
    rows.print(console())
    for name, n in found.counts.items():
        console().print(f"{name.replace('_', ' ')}: {n}")
