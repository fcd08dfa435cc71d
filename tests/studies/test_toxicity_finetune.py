"""Fine-tuning for real, on a few made-up texts and the smallest model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clinometer.errors import SettingsError
from clinometer.models import open_model
from clinometer.studies.toxicity import RECORD, Training, finetuned, source_of
from clinometer.topics import Prompt

TEXTS = [f"The engineer said that she would finish part {i} today." for i in range(8)]
PROMPT = Prompt("The engineer said that", "", space=True)


def share_of_she(model: str) -> float:
    found = open_model(model).score([PROMPT], ["she", "he"]).log_probs[0]
    return float(found[0] - found[1])


@pytest.mark.parametrize("lora", [False, True])
def test_training_moves_the_model_towards_its_texts(tmp_path: Path, lora: bool) -> None:
    training = Training(
        learning_rate=3e-3 if lora else 5e-4, lora=lora, accumulation=1, rank=4
    )
    folder = finetuned("pocket:gpt2-s", TEXTS, tmp_path / "model", training=training)
    said = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    assert said["steps"] == 16
    assert said["trained_texts"] == 8
    assert said["loss"] > 0
    assert (folder / "adapter_config.json").is_file() == lora
    assert share_of_she(str(folder)) > share_of_she("pocket:gpt2-s") + 0.5

    # It is made once; other texts in the same folder are refused.
    stamp = (folder / RECORD).stat().st_mtime_ns
    finetuned("pocket:gpt2-s", TEXTS, folder, training=training)
    assert (folder / RECORD).stat().st_mtime_ns == stamp
    with pytest.raises(SettingsError, match="other texts"):
        finetuned("pocket:gpt2-s", TEXTS[:4], folder, training=training)


def test_a_step_takes_as_many_texts_as_the_papers_eight_processes(
    tmp_path: Path,
) -> None:
    """8 × 1 × 4 = 32 texts a step: 70 texts are 3 steps an epoch, the first fifth of 6 warms up."""
    texts = [f"{TEXTS[0]} {i}" for i in range(70)]
    folder = finetuned("pocket:gpt2-s", texts, tmp_path / "model", training=Training())
    said = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    steps = said["training"]["batch"] * said["accumulation"]
    assert (steps, said["steps"], said["warmup_steps"]) == (32, 6, 2)


def test_several_processes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingsError, match="torchrun"):
        finetuned("pocket:gpt2-s", TEXTS, tmp_path / "model", training=Training())


def test_models_that_cannot_be_trained_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="with weights"):
        source_of("reference:random")
    with pytest.raises(SettingsError, match="above 0"):
        Training(learning_rate=0)
    with pytest.raises(SettingsError, match="warmup"):
        Training(warmup=1.0)
