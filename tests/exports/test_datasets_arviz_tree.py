"""A run as a tree of datasets, read back by xarray and ArviZ."""

from __future__ import annotations

from pathlib import Path

import arviz_base as az
import numpy as np
import pytest
import xarray as xr
from tests.command import Clinometer
from tests.report.made import made_run

from clinometer.exports.datasets import to_tree

#: What the other library warns of in its own code.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_arviz_reads_the_risks_with_their_intervals(clinometer: Clinometer, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", groups=4, contexts=60, replicates=100)
    done = clinometer("export", "arviz", tmp_path / "run", "--out", tmp_path / "run.nc")
    assert done.status == 0, done.err
    with xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        risks = az.convert_to_dataset(tree, group="risks")
        assert risks.attrs["level"] == 0.95
        for measure, estimate in run.risks.summary.items():
            row = risks.sel(measure=measure)
            assert float(row["value"]) == estimate.value
            assert (float(row["low"]), float(row["high"])) == (estimate.low, estimate.high)
        observed = az.convert_to_dataset(tree, group="observed_data")
        np.testing.assert_array_equal(observed["p"], run.preferences.values)


def test_a_reference_model_has_no_interval(clinometer: Clinometer, tmp_path: Path) -> None:
    from clinometer.runs import Run

    assert clinometer("audit", "reference:random", "--out", tmp_path / "run").status == 0
    risks = to_tree(Run.load(tmp_path / "run"))["risks"]
    assert "level" not in risks.attrs
    assert np.isnan(risks["low"]).all()
