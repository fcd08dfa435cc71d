"""Adapter folders, as peft merges them, against a merge by hand."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file
from tests.models.zoo import Folder

from clinometer.errors import ModelError, ModelNotFound
from clinometer.models import LoadOptions, open_model
from clinometer.topics import Prompt

CPU = LoadOptions(device="cpu")
PROMPT = Prompt("The nurse said that", "", space=True)
WORDS = ["he", "she"]
LAYERS = {
    "gpt2": ["transformer.h.0.attn.c_attn", "transformer.h.1.mlp.c_proj"],
    "llama": ["model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"],
    "tied": ["lm_head"],
}


def write_adapter(
    folder: Path, base: Path, family: str, **changes: Any
) -> dict[str, Any]:
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
        a, b = (
            tensors[f"base_model.model.{layer}.lora_{part}.weight"] for part in "AB"
        )
        change = scale * b @ a
        by_hand.get_submodule(layer).weight.data += (
            change.T if family == "gpt2" else change
        )
    for name, weight in by_hand.state_dict().items():
        torch.testing.assert_close(
            scorer.model.state_dict()[name], weight, atol=1e-5, rtol=1e-5
        )
    plain = open_model(str(base), load=CPU)
    moved = (
        scorer.score([PROMPT], WORDS).log_probs - plain.score([PROMPT], WORDS).log_probs
    )
    assert np.abs(moved).max() > 0.01
    assert scorer.info.revision != plain.info.revision
    assert scorer.info.notes == ("adapter merged into " + base.resolve().name,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"peft_type": "PROMPT_TUNING"},
            "found peft_type PROMPT_TUNING; expected one of LORA",
        ),
        (
            {"init_lora_weights": "pissa_niter_4"},
            "pissa_niter_4, which changes the base model",
        ),
        (
            {"layer_replication": [[0, 2], [0, 2]]},
            "layer_replication, which changes what",
        ),
        ({"invented_later": 1}, "invented_later, which changes what"),
        ({"use_dora": True}, "disagree on .*lora_magnitude_vector"),
        ({"target_modules": ["c_attn"]}, r"disagree on .*h\.1\.attn\.c_attn"),
        ({"target_modules": ["h.0.attn.c_attn"]}, r"disagree on .*mlp\.c_proj\.lora_A"),
        ({"target_modules": ["q_proj"]}, "Target modules .*q_proj.* not found"),
        (
            {"megatron_config": {"a": 1}, "megatron_core": "antigravity"},
            "its megatron_config",
        ),
        (
            {"base_model_name_or_path": "../elsewhere"},
            "model '../elsewhere' is not a folder",
        ),
        ({"base_model_name_or_path": "../llama"}, "Target modules .* not found"),
    ],
)
def test_adapters_that_cannot_be_merged_are_refused(
    changes: dict[str, Any],
    message: str,
    base: Path,
    small_model: Folder,
    tmp_path: Path,
) -> None:
    (tmp_path / "llama").symlink_to(small_model("llama"))
    write_adapter(tmp_path / "adapter", base, "gpt2", **changes)
    with pytest.raises(ModelError, match=message) as refusal:
        open_model(str(tmp_path / "adapter"), load=CPU)
    assert "\n" not in str(refusal.value)


def test_a_layer_shared_with_the_embedding_is_not_changed(
    base: Path, tmp_path: Path
) -> None:
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


TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "pissa": ("LoraConfig", {"init_lora_weights": "pissa"}),
    "olora": ("LoraConfig", {"init_lora_weights": "olora"}),
    "orthogonal": ("LoraConfig", {"init_lora_weights": "orthogonal"}),
    "lora_bias": ("LoraConfig", {"lora_bias": True, "target_modules": ["c_attn"]}),
    "bias": ("LoraConfig", {"bias": "all", "target_modules": ["c_attn"]}),
    "dora": ("LoraConfig", {"use_dora": True}),
    "ranks": (
        "LoraConfig",
        {"rank_pattern": {"q_proj": 3}, "alpha_pattern": {"down_proj": 5}},
    ),
    "saved": ("LoraConfig", {"modules_to_save": ["norm"]}),
    "loha": ("LoHaConfig", {}),
    "lokr": ("LoKrConfig", {}),
    "ia3": ("IA3Config", {"feedforward_modules": []}),
    "oft": ("OFTConfig", {"r": 0, "oft_block_size": 4}),
    "boft": ("BOFTConfig", {"boft_block_size": 4}),
    "adalora": ("AdaLoraConfig", {"total_step": 10, "target_r": 2, "init_r": 2}),
    "norms": ("LNTuningConfig", {"target_modules": ["norm"]}),
}


IDS = torch.arange(5, 15)[None]


def trained(name: str, small_model: Folder, tmp_path: Path) -> tuple[Path, Any]:
    """An adapter that peft made and saved, and what the model gave before that."""
    import peft

    kind, changes = TRAINED[name]
    family = "gpt2" if "c_attn" in changes.get("target_modules", ()) else "llama"
    base = tmp_path / "its_base"
    base.symlink_to(small_model(family))
    torch.manual_seed(0)
    warnings.simplefilter("ignore")  # pytest puts the filters back
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    given = {
        "target_modules": ["q_proj", "down_proj"],
        "task_type": "CAUSAL_LM",
        **changes,
    }
    if family == "gpt2":
        given["fan_in_fan_out"] = True
    adapted = peft.get_peft_model(model, getattr(peft, kind)(**given)).eval()
    with torch.no_grad():
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.add_(0.1 * torch.randn_like(weight))
        expected = adapted(IDS).logits
    adapted.save_pretrained(tmp_path / "adapter")
    file = tmp_path / "adapter" / "adapter_config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "base_model_name_or_path": "../its_base"}))
    return tmp_path / "adapter", expected


@pytest.mark.parametrize("name", TRAINED)
def test_an_adapter_is_restored_as_it_was_trained(
    name: str, small_model: Folder, tmp_path: Path
) -> None:
    folder, expected = trained(name, small_model, tmp_path)
    scorer: Any = open_model(str(folder), load=CPU)
    with torch.no_grad():
        found = scorer.model(IDS).logits
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_what_is_computed_from_the_base_model_needs_float32(
    small_model: Folder, tmp_path: Path
) -> None:
    folder, _ = trained("pissa", small_model, tmp_path)
    with pytest.raises(ModelError, match="exact with --load dtype=float32 alone"):
        open_model(str(folder), load=LoadOptions(device="cpu", dtype="bfloat16"))
