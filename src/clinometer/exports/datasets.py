"""A run as a netCDF file: every preference with its weights, for xarray and what reads netCDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clinometer import __version__
from clinometer.display.numbers import MEASURES
from clinometer.errors import RunError
from clinometer.extras import require
from clinometer.measure.comparison_engine import joint_replicates
from clinometer.measure.grid import read_preferences
from clinometer.runs import Run
from clinometer.storage.atomic import replacing

if TYPE_CHECKING:
    import xarray as xr


# --- A run as a netCDF file: every preference with its weights, for xarray and what reads netCDF


def write_netcdf(run: Run, out: Path) -> Path:
    """Write `run.to_xarray()`: p by group, context and attribute, and the risks of the groups.

    netCDF 3, which xarray writes and reads with scipy alone.
    """
    require("export xarray", "xarray")
    found = run.to_xarray()
    with replacing(out, error=RunError) as beside:
        found.to_netcdf(beside, engine="scipy")
    return out


# --- A run as a tree of datasets in the manner of ArviZ: observed data, weights, bootstrap draws


REPLICATES = 2000


def write_arviz(run: Run, out: Path, *, replicates: int = REPLICATES, seed: int = 0) -> Path:
    """Write the tree as netCDF 4, which `xarray.open_datatree` and ArviZ read."""
    require("export arviz", "xarray", "h5netcdf", "h5py")
    tree = to_tree(run, replicates=replicates, seed=seed)
    with replacing(out, error=RunError) as beside:
        tree.to_netcdf(beside, engine="h5netcdf")
    return out


def to_tree(run: Run, *, replicates: int = REPLICATES, seed: int = 0) -> xr.DataTree:
    """Groups: `observed_data` (p, coverage), `constant_data` (weights, risks of the groups) and
    `bootstrap` (R, R_bias and R_volatility, corrected, with one chain of replicates).

    The replicates come from resampling contexts. They are no draws from a posterior, so the group
    has another name than ArviZ gives to those: `summary(tree, group="bootstrap")`. Their middle is
    the corrected risk and their quantiles are not the intervals of the run, which are attributes
    of the group. A reference model is known and has no replicates.
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
    groups = {
        "/": xr.Dataset(attrs=about),
        "/observed_data": whole[observed].assign_attrs(about),
        "/constant_data": whole.drop_vars(observed).assign_attrs(about),
    }
    if run.record.model.kind != "reference":
        groups["/bootstrap"] = _bootstrap(run, replicates, seed).assign_attrs(
            {**about, **_intervals(run)}
        )
    return xr.DataTree.from_dict(groups)


def _bootstrap(run: Run, replicates: int, seed: int) -> xr.Dataset:
    import numpy as np
    import xarray as xr

    p = run.preferences
    grid = read_preferences(
        p.values,
        context_weights=p.context_weights,
        group_weights=p.group_weights,
        reference=p.reference,
        mask=~np.isnan(p.values).any(axis=2),
        groups=p.groups,
        categories=p.categories,
    )
    clusters = run.record.settings.clusters
    found = joint_replicates(
        [grid],
        norm=run.risks.norm,
        normalize=run.risks.normalized,
        clusters=None if clusters is None else p.label(clusters),
        replicates=replicates,
        seed=seed,
    )
    dims = ("chain", "draw")
    values = {m: (dims, found.draws[None, :, 0, k]) for k, m in enumerate(MEASURES)}
    return xr.Dataset(values, coords={"chain": [0], "draw": np.arange(replicates)})


def _intervals(run: Run) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, estimate in run.risks.summary.items():
        if estimate.low is not None and estimate.high is not None:
            found |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return found
