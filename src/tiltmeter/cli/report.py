"""tiltmeter report: a page that works offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import console


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Write one HTML page about one or several runs."""
    from tiltmeter.report import write_report
    from tiltmeter.runs import Run

    write_report([Run.load(path) for path in runs], out)
    console().print(f"wrote {out}", markup=False)
