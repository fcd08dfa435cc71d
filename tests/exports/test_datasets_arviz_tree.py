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


def test_arviz_reads_the_replicates(clinometer: Clinometer, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", groups=4, contexts=60, replicates=100)
    done = clinometer("export", "arviz", tmp_path / "run", "--out", tmp_path / "run.nc",
                      "--replicates", 400)  # fmt: skip
    assert done.status == 0, done.err
    with xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        draws = az.extract(tree, group="bootstrap", combined=False)
        assert draws["R"].sizes == {"chain": 1, "draw": 400}
        assert abs(float(draws["R"].mean()) - run.risks.R.value) < 3 * float(draws["R"].std()) / 20
        np.testing.assert_allclose(draws["R"], draws["R_bias"] + draws["R_volatility"], atol=1e-12)
        observed = az.convert_to_dataset(tree, group="observed_data")
        np.testing.assert_array_equal(observed["p"], run.preferences.values)
        assert tree["bootstrap"].attrs["R_low"] == run.risks.R.low


def test_a_reference_model_has_no_replicates(clinometer: Clinometer, tmp_path: Path) -> None:
    from clinometer.runs import Run

    assert clinometer("audit", "reference:random", "--out", tmp_path / "run").status == 0
    assert "bootstrap" not in to_tree(Run.load(tmp_path / "run")).children
