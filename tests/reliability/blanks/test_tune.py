"""An adapter is trained for real, lowers its loss, and is a model like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.models import open_model
from clinometer.models.catalog.open import open_writer
from clinometer.models.generation.local import CausalWriter
from clinometer.reliability import Statement
from clinometer.reliability.blanks import points_prompt
from clinometer.reliability.tune import TuneSettings, tune_points

EXAMPLES = [
    Statement(id="a", text="The nurse is tired.", points="The ___ nurse is tired ___."),
    Statement(id="b", text="No blanks here.", points="No blanks here."),
]


@pytest.fixture(scope="module")
def model(smollm2: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """SmolLM2's own shape and tokenizer with two layers: small enough to train in a test."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(smollm2.model.config.name_or_path)
    config.num_hidden_layers, config.hidden_size, config.intermediate_size = 2, 48, 96
    config.num_attention_heads = config.num_key_value_heads = 3
    config.head_dim = 16
    config.layer_types = None
    folder = tmp_path_factory.mktemp("small")
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    smollm2.tokenizer.save_pretrained(folder)
    return str(folder)


def test_a_trained_adapter_lowers_its_loss_and_opens(model: str, tmp_path: Path) -> None:
    settings = TuneSettings(epochs=6, rank=4, last_layers=1, learning_rate=1e-2)
    tuned = tune_points(model, EXAMPLES, tmp_path / "adapter", settings=settings)
    assert tuned.examples == 1  # a statement without blanks teaches nothing
    assert tuned.losses[-1] < tuned.losses[0]
    writer = open_writer(model)
    assert isinstance(writer, CausalWriter)
    head = writer.head(points_prompt(EXAMPLES[0].text))
    base: Any = open_model(model)
    adapted: Any = open_model(str(tmp_path / "adapter"))
    assert "adapter" in adapted.info.notes[0]
    import torch

    with torch.inference_mode():
        before, after = (
            m.model(torch.tensor([head])).logits[0, -1].numpy() for m in (base, adapted)
        )
    assert np.abs(before - after).max() > 1e-3
    with pytest.raises(SettingsError, match="expected a new folder"):
        tune_points(model, EXAMPLES, tmp_path / "adapter", settings=settings)


def test_wrong_input_is_named(model: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="context_points"):
        tune_points(model, EXAMPLES[1:], tmp_path / "x")
    with pytest.raises(SettingsError, match="rank: expected a whole number of at least 1"):
        TuneSettings(rank=0)
