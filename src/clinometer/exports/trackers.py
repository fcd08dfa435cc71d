"""A run in trackers of experiments, MLflow and Weights & Biases: settings, risks, groups."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory

from clinometer.exports.facts import basis, flat_metrics, flat_settings
from clinometer.extras import require
from clinometer.runs import Run

#: What experiments of MLflow and projects of W&B are called unless given.
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
    existing = client.get_experiment_by_name(experiment)
    number = client.create_experiment(experiment) if existing is None else existing.experiment_id
    logged = client.create_run(number, run_name=run.model, tags={"mlflow.note.content": basis(run)})
    key = str(logged.info.run_id)
    status = "FAILED"
    try:
        for name, text in flat_settings(run).items():
            client.log_param(key, name, text)
        for name, value in flat_metrics(run).items():
            client.log_metric(key, name, value)
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


def log_to_wandb(
    run: Run, *, project: str = EXPERIMENT, offline: bool = False, folder: Path | None = None
) -> Path:
    """Log the run; returns the folder that W&B keeps of it.

    `offline` writes to disk only, to be sent with `wandb sync`. W&B itself reads the key
    (`wandb login`, WANDB_API_KEY).
    """
    require("export wandb", "wandb")
    import wandb

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    logged = wandb.init(
        project=project,
        name=run.model,
        notes=basis(run),
        config=flat_settings(run),
        job_type="audit",
        mode="offline" if offline else "online",
        dir=None if folder is None else str(folder),
        settings=wandb.Settings(console="off", silent=True),
    )
    stored = Path(logged.dir).parent
    try:
        logged.log({"groups": wandb.Table(dataframe=run.groups.reset_index())})
        logged.summary.update(flat_metrics(run))
    finally:
        logged.finish()
    return stored
