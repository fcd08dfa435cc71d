"""Models laid out by the library: over devices, and in 8 bits."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch
from tests.components import needs

from clinometer.errors import MissingExtra
from clinometer.models import LoadOptions, WordOptions, open_model
from clinometer.models.local.base import TransformerScorer
from clinometer.topics import Prompt

PROMPTS = [Prompt("The nurse said that", "", space=True), Prompt("The man", " left", space=True)]
WORDS = ("he", "she", "grandson", "granddaughter")


@pytest.mark.parametrize("name", ["pocket:gpt2-s", "smollm2"])
def test_a_device_map_changes_no_number(name: str) -> None:
    plain = open_model(name)
    spread = open_model(name, load=LoadOptions(device_map="auto"))
    assert torch.device(spread.info.device).type == torch.device(plain.info.device).type
    np.testing.assert_allclose(
        spread.score(PROMPTS, WORDS).log_probs, plain.score(PROMPTS, WORDS).log_probs, atol=1e-5
    )


@needs("bitsandbytes")
@pytest.mark.parametrize("name", ["pocket:bert", "pocket:gpt2-s", "pocket:t5", "smollm2"])
def test_eight_bit_weights_change_the_numbers_slightly(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    exact = WordOptions(tolerance=0)
    plain = open_model(name, words=exact).score(PROMPTS, WORDS)
    model = open_model(name, words=exact, load=LoadOptions(quantize="8bit"))
    moved = np.abs(np.exp(model.score(PROMPTS, WORDS).log_probs) - np.exp(plain.log_probs)).max()
    assert 0 < moved < 0.05
    assert "weights in 8 bits (bitsandbytes)" in model.info.notes
    assert isinstance(model, TransformerScorer)
    assert any(p.dtype is torch.int8 for p in model.model.parameters())
    assert "MatMul8bitLt" not in capfd.readouterr().err


def test_eight_bit_weights_need_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *a: None if name == "bitsandbytes" else found(name, *a),
    )
    with pytest.raises(MissingExtra, match=r"clinometer\[8bit\]"):
        open_model("pocket:gpt2-s", load=LoadOptions(quantize="8bit"))
