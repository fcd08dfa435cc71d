"""A run in an MLflow tracking server or folder: parameters, metrics, the report as an artifact."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory

from clinometer.exports.facts import basis, flat_metrics, flat_settings
from clinometer.extras import require
from clinometer.runs import Run

# --- A run in an MLflow tracking server or folder: parameters, metrics, the report as an artifact


EXPERIMENT = "clinometer"


def log_to_mlflow(
    run: Run, *, tracking_uri: str | None = None, experiment: str = EXPERIMENT
) -> str:
    """Log the run; returns the id of the MLflow run.

    The ends of an interval are metrics (R_low, R_high). Artifacts: run.json, groups.csv and, where
    the extra `report` is installed, report.html. Without `tracking_uri`, MLflow's own setting
    (MLFLOW_TRACKING_URI) holds.
    """
    require("export mlflow", "mlflow")
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=tracking_uri)
    there = client.get_experiment_by_name(experiment)
    number = client.create_experiment(experiment) if there is None else there.experiment_id
    made = client.create_run(number, run_name=run.model, tags={"mlflow.note.content": basis(run)})
    key = str(made.info.run_id)
    status = "FAILED"
    try:
        for name, value in flat_settings(run).items():
            client.log_param(key, name, value)
        for name, number_ in flat_metrics(run).items():
            client.log_metric(key, name, number_)
        with TemporaryDirectory() as folder:
            for file in _artifacts(run, Path(folder)):
                client.log_artifact(key, str(file))
        status = "FINISHED"
    finally:
        client.set_terminated(key, status)
    return key


def _artifacts(run: Run, folder: Path) -> list[Path]:
    groups = folder / "groups.csv"
    run.groups.to_csv(groups)
    record = folder / "run.json"
    record.write_text(run.record.model_dump_json(by_alias=True, exclude_unset=True), "utf-8")
    if importlib.util.find_spec("altair") is None or importlib.util.find_spec("vl_convert") is None:
        return [groups, record]
    return [groups, record, run.write_report(folder / "report.html")]


# --- A run in Weights & Biases: summary, configuration and the table of groups -------------------


PROJECT = "clinometer"


def log_to_wandb(
    run: Run, *, project: str = PROJECT, offline: bool = False, folder: Path | None = None
) -> Path:
    """Log the run; returns the folder that W&B keeps of it.

    `offline` writes to disk only, to be sent with `wandb sync`. The key is W&B's own matter
    (`wandb login`, WANDB_API_KEY).
    """
    require("export wandb", "wandb")
    import wandb

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    made = wandb.init(
        project=project,
        name=run.model,
        notes=basis(run),
        config=flat_settings(run),
        job_type="audit",
        mode="offline" if offline else "online",
        dir=None if folder is None else str(folder),
        settings=wandb.Settings(console="off", silent=True),
    )
    kept = Path(made.dir).parent
    try:
        made.log({"groups": wandb.Table(dataframe=run.groups.reset_index())})
        made.summary.update(flat_metrics(run))
    finally:
        made.finish()
    return kept
