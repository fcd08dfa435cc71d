"""clinometer export: runs and context sets in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.option import opt
from clinometer.cli.printing import console
from clinometer.runs import Run

export_app = typer.Typer(
    help="Write runs and context sets in the formats of other tools.", no_args_is_help=True
)

RUN = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


@export_app.command("xarray")
def xarray_command(
    run: RUN,
    out: Annotated[Path, opt("File to write.", "--out", "-o")] = Path("run.nc"),
) -> None:
    """Write every preference, weight and risk of a run as a netCDF file, which xarray opens."""
    from clinometer.exports.netcdf import write_netcdf

    written(write_netcdf(Run.load(run), out), f'xarray.open_dataset("{out}")')


def written(out: Path, then: str) -> None:
    """Where the result is, and what comes next."""
    console().print(f"Wrote {out}. Next: {then}", soft_wrap=True)
