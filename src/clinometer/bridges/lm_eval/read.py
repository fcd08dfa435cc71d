"""Runs from samples of lm-evaluation-harness: any task that asks for log-likelihoods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clinometer.bridges.cells import SampleCells
from clinometer.bridges.imported import file_digest, measured_import
from clinometer.bridges.lm_eval.metrics import MetricTally
from clinometer.bridges.lm_eval.own_task import import_own_task
from clinometer.bridges.lm_eval.samples import HarnessSample, read_results, read_samples
from clinometer.bridges.lm_eval.task_folder import PREFIX
from clinometer.bridges.mapping import SampleMapping, load_mapping, mapping_for
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record_schema import ImportRecord
from clinometer.settings import with_settings

TOOL = "lm-eval"


def import_lm_eval(
    samples: str | Path,
    *,
    mapping: str | SampleMapping | None = None,
    task: str | Path | None = None,
    tokenizer: str | None = None,
    model: str | None = None,
    out: str | Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    **options: Any,
) -> Run:
    """The run that a file samples_TASK_DATE.jsonl of `lm_eval --log_samples` holds.

    Args:
        samples: the file; results_DATE.json beside it names the model and its metrics.
        mapping: a ready mapping by name, or a .toml file; without one, that of the task.
        task: instead of a mapping, the folder of `clinometer export lm-eval`, for its own samples.
        tokenizer: with `task`, the model's (a folder, a packaged model, a hub id): it tells which
            words are written alike; without it only their texts do.
        model: what to call the model, if not as the harness does.
        out: the folder of the run; None keeps it in memory.
        settings, options: of the measures and intervals, as in `clinometer.audit`.
        fresh: replace another run in `out`.
    """
    settings = with_settings(settings or AuditSettings(), options)
    path, folder = Path(samples), None if out is None else Path(out)
    digest = file_digest(path)
    told = read_results(path, model=model)
    if task is not None:
        return import_own_task(
            path,
            digest,
            told,
            task=Path(task),
            tokenizer=tokenizer,
            out=folder,
            settings=settings,
            fresh=fresh,
        )
    if told.task.startswith(PREFIX) and mapping is None:
        raise SettingsError(
            f"{path}: holds samples of a task that clinometer exported; name its folder with --task"
        )
    if isinstance(mapping, SampleMapping):
        chosen = mapping
    else:
        chosen = mapping_for(told.task) if mapping is None else load_mapping(mapping)
    cells = SampleCells(chosen)
    metrics = MetricTally(chosen.metrics)
    n = 0
    for sample in read_samples(path):
        n += 1
        metrics.add(sample)
        _add(sample, chosen, cells)
    preferences = cells.preferences(coverage_threshold=settings.coverage_threshold)
    source = ImportRecord(
        tool=TOOL,
        version=told.version,
        task=told.task,
        file=path.name,
        sha256=digest,
        mapping=chosen.name,
        mapping_sha256=chosen.sha256,
        samples=n,
        left_out=dict(cells.left_out),
        metrics=metrics.compared(told.metrics),
    )
    return measured_import(
        preferences, chosen, told.model, source, settings, out=folder, fresh=fresh
    )


def _add(sample: HarnessSample, mapping: SampleMapping, cells: SampleCells) -> None:
    fields, where = sample.fields, sample.where
    if not mapping.wants(fields, where=where):
        cells.left_out["samples that the mapping does not want"] += 1
        return
    place = mapping.place(fields, where=where)
    if mapping.category:
        category = mapping.own_category(fields, where=where)
        cells.add_answer(place, category, sample.log_probs[0])
        return
    log_probs: dict[str, list[float]] = {}
    for position, (answer, log_prob) in enumerate(
        zip(sample.answers, sample.log_probs, strict=True)
    ):
        found = mapping.category_of(answer, position, fields, where=where)
        if found is not None:
            log_probs.setdefault(found, []).append(log_prob)
    cells.add(place, {c: float(np.logaddexp.reduce(logs)) for c, logs in log_probs.items()})
