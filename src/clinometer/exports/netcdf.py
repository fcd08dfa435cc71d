"""A run as a netCDF file: every preference with its weights, for xarray and what reads netCDF."""

from __future__ import annotations

from pathlib import Path

from clinometer.errors import RunError
from clinometer.extras import require
from clinometer.runs import Run
from clinometer.storage.atomic import replacing


def write_netcdf(run: Run, out: Path) -> Path:
    """Write `run.to_xarray()`: p by group, context and attribute, and the risks of the groups.

    netCDF 3, which xarray writes and reads with scipy alone.
    """
    require("export xarray", "xarray")
    found = run.to_xarray()
    with replacing(out, error=RunError) as beside:
        found.to_netcdf(beside, engine="scipy")
    return out
