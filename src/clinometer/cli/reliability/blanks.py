"""clinometer reliability blanks: which context-addition point matters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    VariantsOption,
    plain_rows,
    read_statements,
    write_frame,
)
from clinometer.cli.table import TerminalTable


def blanks_command(
    source: StatementsArgument,
    variants: VariantsOption,
    models: ModelsOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder: written as it goes, and continued.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Write a row a blank: a .csv or .parquet file.")
    ] = None,
    variant: Annotated[str, typer.Option(help="equation, figure or released.")] = "equation",
    versions: Annotated[int, number_option(ranges.COUNT, "Use the first so many versions.")] = 40,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the sample.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    top: Annotated[int, number_option(ranges.COUNT_OR_0, "Show so many blanks.")] = 10,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing the run in --out.")
    ] = False,
    json_output: JSON = False,
) -> None:
    """Score each blank of a statement alone: the context variance it makes, and its share.

    Statements need a column context_points with blanks (___).
    """
    from clinometer.models import LoadOptions
    from clinometer.reliability import ReliabilitySettings, read_variants
    from clinometer.reliability.blanks.contribution import blank_contributions

    settings = ReliabilitySettings(
        variant=variant, versions=versions, replicates=0, load=LoadOptions(device=device)
    )
    statements = read_statements(source, format=format, limit=limit, seed=seed)
    asked = models or ["pocket:bert"]
    loading = f"loading {', '.join(asked)}"
    with progress("scoring", unit="texts", start=loading, kept=Kept(out)) as watch:
        found = blank_contributions(
            statements,
            read_variants(variants),
            models=asked,
            settings=settings,
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
        console().print(f"{name.replace('_', ' ')}: {n}", markup=False)
