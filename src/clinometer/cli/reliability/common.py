"""Options and output shared by the subcommands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.option import opt
from clinometer.cli.printing import console, say
from clinometer.cli.table import TerminalTable
from clinometer.display.numbers import between
from clinometer.errors import TableError
from clinometer.reliability.scoring.notes import reading_notes
from clinometer.reliability.standing import scoring_models
from clinometer.storage.atomic import replacing
from clinometer.storage.spreadsheet import no_formula

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability import ReliabilityRun, Statement

StatementsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="STATEMENTS...",
        help="Benchmark files, a csv or jsonl file with a column sentence, or hf:DATASET.",
    ),
]
VariantsOption = Annotated[
    Path,
    opt("Versions with added context: jsonl {id, variants} or csv id, version."),
]
ModelsOption = Annotated[
    list[str] | None,
    opt(
        "A scoring model; may be repeated. auto: the paper's large models if available, else small "
        "ones.",
        "--model",
        unset="pocket:bert",
    ),
]
FormatOption = Annotated[
    str | None,
    opt("Format of the benchmark.", "--format", unset="detected"),
]
ValidationOption = Annotated[
    Path | None,
    opt(
        "A passed truth test of these models and versions (validate --out).",
        "--validation",
        unset="the result is labelled not validated",
    ),
]
LimitOption = Annotated[
    int | None,
    opt("Sample at most this many statements.", "--limit", allowed=ranges.COUNT, unset="use all"),
]


def asked_models(given: list[str] | None) -> list[str]:
    """The scoring models that were named, or the default; a warning goes to stderr."""
    found, warning = scoring_models(given or ["pocket:bert"])
    if warning:
        say(warning)
    return found


def read_statements(
    sources: Sequence[str], *, format: str | None, limit: int | None, seed: int
) -> list[Statement]:
    """Statements of the sources, or a sample of them in order."""
    import numpy as np

    from clinometer.reliability import load_statements

    found = load_statements(*sources, format=format)
    if limit is None or limit >= len(found):
        return found
    chosen = np.random.default_rng(seed).choice(len(found), size=limit, replace=False)
    return [found[i] for i in sorted(chosen.tolist())]


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as csv or parquet, depending on the file's suffix."""
    if path.suffix not in {".csv", ".parquet"}:
        raise TableError(f"{path}: expected a file name that ends in .csv or .parquet")
    with replacing(path) as beside:
        if path.suffix == ".csv":
            frame.map(no_formula).to_csv(beside, index=False)
        else:
            frame.to_parquet(beside, index=False)


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows ready for JSON: a missing number is None."""
    rows = frame.astype(object).to_dict(orient="records")
    return [{str(k): None if v != v else v for k, v in row.items()} for row in rows]


def print_run(run: ReliabilityRun, *, top: int) -> None:
    """The means, the least stable statements, and what a reader must know."""
    frame = run.statements
    names = ", ".join(m.id for m in run.record.models)
    table = TerminalTable(f"{len(frame)} statements, {names}")
    table.add_text("").add_numbers("mean", "interval")
    for name, found in run.summary.items():
        if found is None:
            continue
        table.add_row(name, f"{found.value:.3f}", between(found.low, found.high))
    table.print(console())
    worst = frame[frame["stability"].notna()].sort_values("stability").head(top)
    if len(worst):
        rows = TerminalTable("Least stable").add_text("id").add_numbers("stability")
        rows.add_text("statement")
        row: Any
        for row in worst.itertuples():
            rows.add_row(row.id, f"{row.stability:.3f}", row.text)
        rows.print(console())
    for line in reading_notes(run.record):
        console().print(line, soft_wrap=True)
