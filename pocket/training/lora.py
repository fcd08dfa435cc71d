"""Low-rank adaptation of GPT-2's layers, saved in PEFT's format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

TARGETS = ("c_attn", "c_proj", "c_fc")


class LowRank(nn.Module):
    """A frozen layer and its correction: y = layer(x) + scale · x Aᵀ Bᵀ.

    B begins at zero, so that training begins at the base model.
    """

    def __init__(self, layer: Conv1D, *, rank: int, alpha: float) -> None:
        super().__init__()
        inputs, outputs = layer.weight.shape
        self.layer = layer
        self.lora_A = nn.Parameter(torch.empty(rank, inputs))
        self.lora_B = nn.Parameter(torch.zeros(outputs, rank))
        self.scale = alpha / rank
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the layer and its correction."""
        correction: torch.Tensor = self.scale * (x @ self.lora_A.T @ self.lora_B.T)
        return self.layer(x) + correction


def attach(model: PreTrainedModel, *, rank: int, alpha: float) -> list[nn.Parameter]:
    """Freeze the model, give its layers corrections, return the parameters to train."""
    model.requires_grad_(False)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in TARGETS and isinstance(child, Conv1D):
                setattr(
                    parent,
                    name,
                    LowRank(child, rank=rank, alpha=alpha).to(child.weight.device),
                )
    return [p for p in model.parameters() if p.requires_grad]


def corrections(model: PreTrainedModel) -> Iterator[tuple[str, LowRank]]:
    """The corrections of a model, by the name of their layer."""
    for name, module in model.named_modules():
        if isinstance(module, LowRank):
            yield name, module


def save(
    model: PreTrainedModel, folder: Path, *, base: str, rank: int, alpha: float
) -> None:
    """Write the corrections as a PEFT adapter folder in half precision."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, module in corrections(model):
        stem = f"base_model.model.{name}"
        tensors[f"{stem}.lora_A.weight"] = (
            module.lora_A.detach().half().cpu().contiguous()
        )
        tensors[f"{stem}.lora_B.weight"] = (
            module.lora_B.detach().half().cpu().contiguous()
        )
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    settings = {
        "base_model_name_or_path": base,
        "bias": "none",
        "fan_in_fan_out": True,
        "inference_mode": True,
        "lora_alpha": alpha,
        "lora_dropout": 0.0,
        "peft_type": "LORA",
        "r": rank,
        "target_modules": list(TARGETS),
        "task_type": "CAUSAL_LM",
    }
    (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2) + "\n")
