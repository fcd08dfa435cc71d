"""Resumable state and finished folders, all of it safetensors and JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from .optimizers import stepped
from .tokenizer import save as save_tokenizer

MOMENTS = ("exp_avg", "exp_avg_sq", "step", "momentum_buffer")


def save(
    folder: Path,
    model: PreTrainedModel,
    optimizers: list[torch.optim.Optimizer],
    state: dict[str, Any],
) -> None:
    """Write weights, optimizer moments and `state`; the old checkpoint stays until the end."""
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    parameters = dict(model.named_parameters())
    tensors = {f"weight.{name}": p.detach() for name, p in parameters.items()}
    for optimizer in optimizers:
        for name, parameter in parameters.items():
            # A parameter that no input reaches (XLNet's segments) has no moments.
            for moment, value in optimizer.state.get(
                stepped(optimizer, parameter), {}
            ).items():
                tensors[f"{moment}.{name}"] = value
    save_file(
        {name: t.contiguous() for name, t in tensors.items()}, new / "state.safetensors"
    )
    (new / "state.json").write_text(json.dumps(state, indent=2))
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def restore(
    folder: Path, model: PreTrainedModel, optimizers: list[torch.optim.Optimizer]
) -> dict[str, Any]:
    """Load what `save` wrote into a model and its fresh optimizers; return the state."""
    tensors = load_file(folder / "state.safetensors", device=str(model.device))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"weight.{name}"])
    owner = {
        p: o for o in optimizers for group in o.param_groups for p in group["params"]
    }
    for name, parameter in model.named_parameters():
        moments = {
            m: tensors[f"{m}.{name}"] for m in MOMENTS if f"{m}.{name}" in tensors
        }
        for optimizer in optimizers if moments else []:
            known = stepped(optimizer, parameter)
            if known in owner and owner[known] is optimizer:
                optimizer.state[known] = moments
    state: dict[str, Any] = json.loads((folder / "state.json").read_text())
    return state


def export(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Write a folder that the Auto classes load: weights in half precision.

    The configuration says float32, so that plain `from_pretrained` computes in full precision
    whatever the machine; only the file is small.
    """
    small = type(model)(model.config)
    small.load_state_dict(model.state_dict())
    small.half().save_pretrained(folder)
    path = folder / "config.json"
    settings = json.loads(path.read_text())
    settings["dtype"] = "float32"
    path.write_text(json.dumps(settings, indent=2) + "\n")
    save_tokenizer(tokenizer, folder)
