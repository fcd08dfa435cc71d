"""A run as netCDF: every preference with its weights, as one dataset or as a tree for ArviZ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clinometer import __version__
from clinometer.errors import RunError
from clinometer.extras import require
from clinometer.runs import Run
from clinometer.storage.atomic import output_file

if TYPE_CHECKING:
    import xarray as xr


def write_netcdf(run: Run, out: Path) -> Path:
    """Write `run.to_xarray()`: p by group, context and attribute, and the risks of the groups.

    netCDF 3, which xarray writes and reads with scipy alone.
    """
    require("export xarray", "xarray")
    with output_file(out, error=RunError) as beside:
        run.to_xarray().to_netcdf(beside, engine="scipy")
    return out


def write_arviz(run: Run, out: Path) -> Path:
    """Write the tree as netCDF 4, which `xarray.open_datatree` and ArviZ read."""
    require("export arviz", "xarray", "h5netcdf", "h5py")
    with output_file(out, error=RunError) as beside:
        to_tree(run).to_netcdf(beside, engine="h5netcdf")
    return out


def to_tree(run: Run) -> xr.DataTree:
    """Groups: `observed_data` (p, coverage), `constant_data` (weights, risks of the groups) and
    `risks` (value, low and high of R, R_bias, ... by measure; NaN where there is no interval).

    There are no draws: the intervals are inverted tests, not quantiles of a sample, so ArviZ's
    summaries of draws do not apply to them.
    """
    import xarray as xr

    whole = run.to_xarray()
    observed = [name for name in ("p", "coverage") if name in whole]
    about = {
        "creation_library": "clinometer",
        "creation_library_version": __version__,
        "model": run.model,
        "topic": run.record.topic.name,
        "contexts": run.record.contexts.name,
    }
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs=about),
            "/observed_data": whole[observed].assign_attrs(about),
            "/constant_data": whole.drop_vars(observed).assign_attrs(about),
            "/risks": _risks(run).assign_attrs(about),
        }
    )


def _risks(run: Run) -> xr.Dataset:
    import xarray as xr

    summary = run.risks.summary
    fields = {
        field: ("measure", np.array([getattr(e, field) for e in summary.values()], dtype=float))
        for field in ("value", "low", "high")
    }
    attributes = {"level": level} if (level := run.risks.R.level) is not None else {}
    return xr.Dataset(fields, coords={"measure": list(summary)}, attrs=attributes)
