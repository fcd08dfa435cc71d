"""LoRA adapter folders (the format of the library peft), merged into their base model.

An adapter holds, for some layers, two thin matrices A [r, in] and B [out, r]; the adapted layer is
W + scale · B A. Adding that once gives an ordinary model that runs at full speed, in a page of code
and without another dependency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from clinometer.errors import ModelError, ModelNotFound
from clinometer.storage.untrusted import read_json

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_SIDES = (".lora_A.weight", ".lora_B.weight")


@dataclass(frozen=True)
class Adapter:
    """An adapter folder: `base` is a folder or a hub id, `scale` the factor of B A."""

    folder: Path
    base: str
    alpha: float
    rank_stabilised: bool

    @classmethod
    def read(cls, folder: Path) -> Adapter:
        """Read the configuration, and refuse what a plain merge would get wrong."""
        try:
            config = read_json(folder / CONFIG)
            base, alpha = str(config["base_model_name_or_path"]), float(config["lora_alpha"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"adapter {str(folder)!r}: its {CONFIG} is no LoRA configuration: expected "
                f"base_model_name_or_path and lora_alpha ({type(error).__name__}: {error})"
            ) from error
        beyond = {
            "peft_type": str(config.get("peft_type", "LORA")) != "LORA",
            "use_dora": bool(config.get("use_dora")),
            "bias": config.get("bias", "none") != "none",
            "modules_to_save": bool(config.get("modules_to_save")),
            "alpha_pattern": bool(config.get("alpha_pattern")),
        }
        if any(beyond.values()):
            found = ", ".join(f"{k} = {config[k]!r}" for k, bad in beyond.items() if bad)
            raise ModelError(
                f"adapter {str(folder)!r}: only plain LoRA can be merged here, found {found}: "
                "merge it with peft and give the merged folder"
            )
        beside = (folder / base).resolve()
        if beside.is_dir():
            base = str(beside)
        elif base.startswith((".", "/", "~")):
            raise ModelNotFound(
                f"adapter {str(folder)!r}: its base model {base!r} is no folder: put it there, or "
                f"correct base_model_name_or_path in {CONFIG}"
            )
        return cls(folder, base, alpha, bool(config.get("use_rslora")))

    def weights(self) -> dict[str, tuple[Tensor, Tensor]]:
        """The matrices (A, B) by name of the layer."""
        file = self.folder / WEIGHTS
        if not file.is_file():
            raise ModelNotFound(f"adapter {str(self.folder)!r}: expected {WEIGHTS} in it")
        from safetensors.torch import load_file

        tensors = load_file(file)
        layers = sorted({_layer(key) for key in tensors})
        found = {}
        for layer in layers:
            pair = [tensors.get(f"{_PREFIX}{layer}{side}") for side in _SIDES]
            if pair[0] is None or pair[1] is None:
                raise ModelError(
                    f"adapter {str(self.folder)!r}: expected lora_A and lora_B for each layer, "
                    f"found something else for {layer!r}"
                )
            found[layer] = (pair[0], pair[1])
        return found

    def merge_into(self, model: Any) -> None:
        """Add scale · B A to the weights of every adapted layer, in place.

        scale is alpha / r, or alpha / √r for rank-stabilised adapters.
        """
        modules = dict(model.named_modules())
        embedding = model.get_input_embeddings().weight
        for layer, (a, b) in self.weights().items():
            module = modules.get(layer)
            weight = getattr(module, "weight", None)
            if weight is None or weight is embedding:
                raise ModelError(
                    f"adapter {str(self.folder)!r}: expected a separate layer {layer!r} in the "
                    "base model to merge it into, found none"
                )
            rank = a.shape[0]
            scale = self.alpha / (math.sqrt(rank) if self.rank_stabilised else rank)
            change = scale * (b.float() @ a.float())
            if type(module).__name__ == "Conv1D":  # GPT-2 keeps its weights [in, out]
                change = change.T
            if change.shape != weight.shape:
                raise ModelError(
                    f"adapter {str(self.folder)!r}: expected layer {layer!r} of shape "
                    f"{tuple(weight.shape)}, as in the base model, found {tuple(change.shape)}"
                )
            with torch.no_grad():
                weight.copy_(weight.float() + change.to(weight.device))


def is_adapter(folder: str | Path) -> bool:
    """Whether a folder holds an adapter rather than a whole model."""
    return (Path(folder) / CONFIG).is_file()


def _layer(key: str) -> str:
    for side in _SIDES:
        key = key.removesuffix(side)
    return key.removeprefix(_PREFIX)
