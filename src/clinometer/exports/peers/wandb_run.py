"""A run in Weights & Biases: summary, configuration and the table of groups."""

from __future__ import annotations

from pathlib import Path

from clinometer.exports.facts import basis, flat_metrics, flat_settings
from clinometer.extras import require
from clinometer.runs import Run

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
