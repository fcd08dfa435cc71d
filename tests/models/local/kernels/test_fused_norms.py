"""Norms are fused where the architecture's formula is torch's, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from clinometer.models.local.kernels.fused_norms import fuse_norms

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
}


def model_of(config: Any) -> Any:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, weight in model.named_parameters():
        if "norm" in name:  # trained ones are not all ones
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return model


@pytest.mark.parametrize(
    ("name", "fused"),
    [("Llama", 5), ("Mistral", 5), ("Qwen2", 5), ("Qwen3", 9), ("Gemma", 0), ("Gemma2", 0)],
)
def test_a_fused_model_gives_the_same_logits(name: str, fused: int) -> None:
    more = {"head_dim": 8} if name in ("Gemma", "Gemma2", "Qwen3") else {}
    model = model_of(getattr(transformers, f"{name}Config")(**SIZES, **more))
    ids = torch.arange(12).reshape(2, 6)
    with torch.inference_mode():
        before = model(input_ids=ids).logits
        assert fuse_norms(model) == fused
        torch.testing.assert_close(model(input_ids=ids).logits, before, rtol=1e-4, atol=1e-5)


def test_fused_norms_round_once() -> None:
    """In bfloat16 the library rounds before it multiplies by the weights, torch after that."""
    model = model_of(transformers.LlamaConfig(**SIZES)).bfloat16()
    norm = model.model.norm
    states = torch.randn((64, 32), dtype=torch.bfloat16)
    with torch.inference_mode():
        plain = norm(states).double()
        fuse_norms(model)
        exact = torch.nn.functional.rms_norm(
            states.double(), (32,), norm.weight.double(), norm.variance_epsilon
        )
        assert (norm(states).double() - exact).abs().max() < (plain - exact).abs().max()


def test_a_norm_that_moves_its_input_stays() -> None:
    """A model on several devices: the hook is in the norm's forward."""
    model = model_of(transformers.LlamaConfig(**SIZES))
    model.model.norm._hf_hook = object()
    assert fuse_norms(model) == 4
    assert "forward" not in vars(model.model.norm)
