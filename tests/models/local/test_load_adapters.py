"""Adapter folders, as peft merges them, against a merge by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file

from clinometer.errors import ModelError, ModelNotFound
from clinometer.models import LoadOptions, open_model
from clinometer.topics import Prompt

CPU = LoadOptions(device="cpu")
PROMPT = Prompt("The nurse said that", "", space=True)
WORDS = ["he", "she"]
Folder = Callable[[str], Path]
LAYERS = {
    "gpt2": ["transformer.h.0.attn.c_attn", "transformer.h.1.mlp.c_proj"],
    "llama": ["model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"],
    "tied": ["lm_head"],
}


def write_adapter(folder: Path, base: Path, family: str, **changes: Any) -> dict[str, Any]:
    """An adapter beside its base model, which it names by a relative path."""
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    generator = torch.Generator().manual_seed(1)
    tensors = {}
    for layer in LAYERS[family]:
        shape = model.get_submodule(layer).weight.shape
        n_out, n_in = shape[::-1] if family == "gpt2" else shape
        prefix = f"base_model.model.{layer}"
        tensors[f"{prefix}.lora_A.weight"] = torch.randn(2, n_in, generator=generator)
        tensors[f"{prefix}.lora_B.weight"] = torch.randn(n_out, 2, generator=generator)
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA",
        "base_model_name_or_path": f"../{base.name}",
        "r": 2,
        "lora_alpha": 3,
        "fan_in_fan_out": family == "gpt2",
        "bias": "none",
        "target_modules": LAYERS[family],
        **changes,
    }
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return tensors


@pytest.fixture
def base(small_model: Folder, tmp_path: Path) -> Path:
    (tmp_path / "base").symlink_to(small_model("gpt2"))
    return tmp_path / "base"


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize(("stabilised", "scale"), [(False, 3 / 2), (True, 3 / 2**0.5)])
def test_merging_matches_a_merge_by_hand(
    family: str, stabilised: bool, scale: float, small_model: Folder, tmp_path: Path
) -> None:
    base = tmp_path / "its_base"
    base.symlink_to(small_model(family))
    tensors = write_adapter(tmp_path / "adapter", base, family, use_rslora=stabilised)
    scorer: Any = open_model(str(tmp_path / "adapter"), load=CPU)
    by_hand = transformers.AutoModelForCausalLM.from_pretrained(base)
    for layer in LAYERS[family]:
        a = tensors[f"base_model.model.{layer}.lora_A.weight"].numpy()
        b = tensors[f"base_model.model.{layer}.lora_B.weight"].numpy()
        weight = by_hand.get_submodule(layer).weight.detach().numpy()  # shares the memory
        for i in range(weight.shape[0]):
            for j in range(weight.shape[1]):
                o, n = (j, i) if family == "gpt2" else (i, j)
                weight[i, j] += scale * (b[o, 0] * a[0, n] + b[o, 1] * a[1, n])
    for name, weight in by_hand.state_dict().items():
        torch.testing.assert_close(scorer.model.state_dict()[name], weight, atol=1e-5, rtol=1e-5)
    plain = open_model(str(base), load=CPU)
    change = scorer.score([PROMPT], WORDS).log_probs - plain.score([PROMPT], WORDS).log_probs
    assert np.abs(change).max() > 0.01
    assert scorer.info.revision != plain.info.revision
    assert scorer.info.notes == ("adapter merged into " + base.resolve().name,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "PROMPT_TUNING"}, "peft cannot merge it into its base model: "),
        ({"peft_type": "NO_SUCH"}, "peft cannot merge it into its base model: .*NO_SUCH"),
        ({"use_dora": True}, "disagree on .*lora_magnitude_vector"),
        ({"target_modules": ["c_attn"]}, r"disagree on .*h\.1\.attn\.c_attn"),
        ({"target_modules": ["h.0.attn.c_attn"]}, r"disagree on .*mlp\.c_proj\.lora_A"),
        ({"target_modules": ["q_proj"]}, "Target modules .*q_proj.* not found"),
        ({"megatron_config": {"a": 1}, "megatron_core": "antigravity"}, "its megatron_config"),
        ({"base_model_name_or_path": "../elsewhere"}, "model '../elsewhere' is not a folder"),
        ({"base_model_name_or_path": "../llama"}, "Target modules .* not found"),
    ],
)
def test_adapters_that_cannot_be_merged_are_refused(
    changes: dict[str, Any], message: str, base: Path, small_model: Folder, tmp_path: Path
) -> None:
    (tmp_path / "llama").symlink_to(small_model("llama"))
    write_adapter(tmp_path / "adapter", base, "gpt2", **changes)
    with pytest.raises(ModelError, match=message) as refusal:
        open_model(str(tmp_path / "adapter"), load=CPU)
    assert "\n" not in str(refusal.value)


def test_a_layer_shared_with_the_embedding_is_not_changed(base: Path, tmp_path: Path) -> None:
    write_adapter(tmp_path / "adapter", base, "tied")
    with pytest.raises(ModelError, match=r"peft cannot merge it .*tie_word_embeddings"):
        open_model(str(tmp_path / "adapter"), load=CPU)


def test_an_adapter_without_weights_is_refused(base: Path, tmp_path: Path) -> None:
    write_adapter(tmp_path / "adapter", base, "gpt2")
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelNotFound, match=r"expected adapter_model\.safetensors"):
        open_model(str(tmp_path / "adapter"), load=CPU)
    (tmp_path / "adapter" / "adapter_config.json").write_text("[]")
    with pytest.raises(ModelError, match="expected base_model_name_or_path"):
        open_model(str(tmp_path / "adapter"), load=CPU)
