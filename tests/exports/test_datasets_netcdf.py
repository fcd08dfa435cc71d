"""A run in netCDF, read back by xarray itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from tests.command import Clinometer
from tests.report.made import made_run


def test_xarray_reads_back_what_was_written(clinometer: Clinometer, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", groups=5, contexts=8, replicates=100)
    done = clinometer("export", "xarray", tmp_path / "run", "--out", tmp_path / "run.nc")
    assert done.status == 0, done.err
    with xr.open_dataset(tmp_path / "run.nc") as found:
        xr.testing.assert_equal(found, run.to_xarray())
        assert found.attrs["model"] == run.model
        by_hand = np.abs(2 * found["p"].sel(attribute="male") - 1) @ found["context_weight"]
        np.testing.assert_allclose(by_hand, found["r"], atol=1e-12)
