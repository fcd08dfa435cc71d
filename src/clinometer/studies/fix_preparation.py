"""What is made before fixes are asked: shuffled adapters, and steering vectors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from clinometer.errors import SettingsError
from clinometer.extras import require
from clinometer.measure.components import Deviations
from clinometer.models import open_model
from clinometer.models.catalog.pretrained import ADAPTER, adapter_base
from clinometer.models.options import QUESTION
from clinometer.report.export import write_files
from clinometer.runs import Run
from clinometer.storage.untrusted import read_json
from clinometer.studies.fix import ADAPTED, STEER, Fix, vector_file, with_controls
from clinometer.studies.fixes import answers_of, halves
from clinometer.studies.framework import Plan, PlannedRun, audit_all

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer

MOST_PROMPTS = 400
"""Prompts at either end that a steering vector is fitted on."""

MOST_GROUPS = 8
"""Groups at either end that a steering vector is fitted on."""


def prepare(plan: Plan, fixes: Sequence[Fix], out: Path, fresh: bool) -> None:
    """Make shuffled adapters and steering vectors; a vector needs the answers of the base."""
    for fix in fixes:
        variants = with_controls([fix], out)
        if fix.kind == ADAPTED:
            control = Path(variants[1].value)
            if fresh or not (control / ADAPTER).is_file():
                seed = plan.audits[0].settings.seed
                _shuffle_adapter(Path(fix.value), control, seed)
        if fix.kind == STEER:
            files = [vector_file(out, variant) for variant in variants]
            if fresh or not all(file.is_file() for file in files):
                _fit(plan.audits[0], variants, out, fresh=fresh)


def _shuffle_adapter(source: Path, target: Path, seed: int) -> None:
    """Write an adapter of the same size that learnt nothing: the numbers of each matrix in any
    order."""
    require("the control of an adapter", "torch", "safetensors")
    import torch
    from safetensors.torch import load_file, save_file

    about = read_json(source / ADAPTER)
    about["base_model_name_or_path"] = adapter_base(source)
    generator = torch.Generator().manual_seed(seed)
    shuffled = {}
    for name, matrix in load_file(source / "adapter_model.safetensors").items():
        order = torch.randperm(matrix.numel(), generator=generator)
        shuffled[name] = matrix.flatten()[order].reshape(matrix.shape)
    target.mkdir(parents=True, exist_ok=True)
    save_file(shuffled, target / "adapter_model.safetensors")
    for file in source.glob("*token*"):
        shutil.copy(file, target)
    write_files({target / ADAPTER: json.dumps(about).encode()})


def _fit(planned: PlannedRun, fixes: Sequence[Fix], out: Path, *, fresh: bool) -> None:
    """Write vectors from the groups that get least to those that get most, fitted in one half of
    the contexts."""
    from clinometer.models.local.steer import fitted

    results, _ = audit_all(Plan("fixes", [planned]), out, fresh=fresh)
    _, base = results[0]
    fit, _ = halves(base)
    n = min(MOST_GROUPS, len(base.preferences.groups) // 2)
    if not n or not fit:
        raise SettingsError(
            "--fix steer: expected at least two groups and two contexts"
        )
    leans = Deviations.of(answers_of(base, fit).cells).lean[:, 0]
    by_lean = np.argsort(leans, kind="stable").tolist()
    contexts = fit[: max(1, MOST_PROMPTS // n)]
    least = _prompts(planned, base, by_lean[:n], contexts)
    most = _prompts(planned, base, by_lean[-n:], contexts)

    layer = int(fixes[0].value) if fixes[0].value else None
    vector = fitted(_causal_scorer(planned), most, least, layer)
    for fix in fixes:
        direction = vector
        if fix.of:
            direction = vector.at_random(planned.settings.seed)
        scaled = [fix.strength * value for value in direction.vector]
        content = {"layer": direction.layer, "vector": scaled}
        write_files({vector_file(out, fix): json.dumps(content).encode()})


def _prompts(
    planned: PlannedRun, base: Run, groups: Sequence[int], contexts: Sequence[int]
) -> list[str]:
    """Return the prompts about some groups in some contexts, group by group."""
    templates = [planned.contexts.templates[c] for c in contexts]
    prompts = []
    for x in groups:
        rendered = planned.topic.render_all(templates, base.preferences.groups[x])
        prompts += [prompt.before for prompt in rendered]
    return prompts


def _causal_scorer(planned: PlannedRun) -> CausalScorer:
    """Return the model whose answers a vector moves."""
    load = replace(planned.settings.load, sampled=None)
    if planned.topic.readout.asks:
        load = replace(load, chat_request=QUESTION)
    scorer = open_model(planned.model, load=load, words=planned.settings.words)
    if scorer.info.kind != "causal":
        raise SettingsError(
            f"--fix steer: expected a causal model, found a {scorer.info.kind} one"
        )
    return cast("CausalScorer", scorer)
