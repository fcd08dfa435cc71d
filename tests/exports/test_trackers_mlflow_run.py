"""A run in MLflow, read back by its client."""

from __future__ import annotations

from pathlib import Path

import mlflow
import pytest
from tests.command import Clinometer
from tests.report.made import made_run

#: What the other library warns of in its own code.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_mlflow_has_settings_risks_and_the_report(
    clinometer: Clinometer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes ten seconds to make
    run = made_run(tmp_path / "run", groups=4, contexts=60, replicates=100)
    uri = (tmp_path / "mlruns").as_uri()
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.create_experiment("bias")
    done = clinometer(
        "export", "mlflow", tmp_path / "run", "--tracking-uri", uri, "--experiment", "bias"
    )
    assert done.status == 0, done.err
    (one,) = client.search_runs([experiment])
    assert one.info.status == "FINISHED"
    assert one.data.metrics["R"] == run.risks.R.value
    assert one.data.metrics["R_low"] == run.risks.R.low
    assert one.data.metrics["R_volatility_high"] == run.risks.R_volatility.high
    assert one.data.params["contexts_sha256"] == run.record.contexts.sha256
    there = {file.path for file in client.list_artifacts(one.info.run_id)}
    assert there == {"groups.csv", "run.json", "report.html"}
