"""Runs from samples of an exported task: every word of every cell, as an audit has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clinometer.bridges.audit_scores import audited_elsewhere
from clinometer.bridges.lm_eval.samples import HarnessResults, HarnessSample, read_samples
from clinometer.bridges.lm_eval.task_folder import TaskFolder
from clinometer.bridges.lm_eval.words import HarnessWords
from clinometer.errors import RunError, SettingsError
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record_schema import ImportRecord


def import_own_task(
    path: Path,
    digest: str,
    told: HarnessResults,
    *,
    task: Path,
    tokenizer: str | None,
    out: Path | None,
    settings: AuditSettings,
    fresh: bool,
) -> Run:
    """The run that samples of a task of `clinometer export lm-eval` hold; as `import_lm_eval`."""
    folder = TaskFolder.read(task)
    grid = folder.grid
    log_probs = np.full((len(grid), len(folder.topic.words)), np.nan)
    for sample in read_samples(path):
        log_probs[_cell(sample, folder)] = sample.log_probs
    found = int((~np.isnan(log_probs).any(axis=1)).sum())
    if found < len(grid):
        raise RunError(
            f"{path}: expected samples of {len(grid)} cells, found {found}; run the task without "
            "--limit, or export fewer contexts (--max-contexts)"
        )
    prompts = grid.prompts(range(len(grid)))
    words = HarnessWords(folder.topic.words, tokenizer=tokenizer, space=prompts[0].space)
    scores = words.scores(log_probs, prompts)
    info = ModelInfo(
        name=told.model.id,
        kind=told.model.kind,
        revision=told.model.revision,
        dtype=told.model.dtype,
        device=told.model.device,
        parameters=told.model.parameters,
    )
    source = ImportRecord(
        tool="lm-eval",
        version=told.version,
        task=told.task,
        file=path.name,
        sha256=digest,
        samples=len(grid),
    )
    return audited_elsewhere(
        grid,
        scores,
        words.report,
        info,
        source,
        settings,
        scoring={"imported.tokenizer": tokenizer},
        out=out,
        fresh=fresh,
    )


def _cell(sample: HarnessSample, folder: TaskFolder) -> int:
    """The number of a sample's cell, after a look at whose it is."""
    if sample.fields.get("clinometer") != folder.digest:
        raise SettingsError(
            f"{sample.where}: is not of the task in --task (another topic, or other contexts); "
            "name the folder that was exported for it"
        )
    cell = sample.fields.get("cell")
    if not isinstance(cell, int) or not 0 <= cell < len(folder.grid):
        raise RunError(f"{sample.where}: expected the number of a cell, found {cell!r}")
    if len(sample.log_probs) != len(folder.topic.words):
        raise RunError(
            f"{sample.where}: expected {len(folder.topic.words)} choices, found "
            f"{len(sample.log_probs)}"
        )
    return cell
