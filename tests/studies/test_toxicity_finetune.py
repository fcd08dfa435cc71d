"""Fine-tuning for real, on a few made-up texts and the smallest model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    training = Training(learning_rate=3e-3 if lora else 5e-4, lora=lora, accumulation=1, rank=4)
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


def test_a_step_takes_as_many_texts_as_the_papers_eight_processes(tmp_path: Path) -> None:
    """8 × 1 × 4 = 32 texts a step: 70 texts are 3 steps an epoch, the first fifth of 6 warms up."""
    texts = [f"{TEXTS[0]} {i}" for i in range(70)]
    folder = finetuned("pocket:gpt2-s", texts, tmp_path / "model", training=Training())
    said = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    steps = said["processes"] * said["training"]["batch"] * said["accumulation"]
    assert (steps, said["steps"], said["warmup_steps"]) == (32, 6, 2)


SCRIPT = """
import sys
from pathlib import Path
from clinometer.studies.toxicity import Training, finetuned
training = Training(learning_rate=5e-4, accumulation=2, epochs=1)
texts = Path(sys.argv[2]).read_text().splitlines()
finetuned(sys.argv[1], texts, Path(sys.argv[3]), training=training)
"""


def test_two_processes_train_as_one_does_with_the_same_batches(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    still = tmp_path / "without-dropout"  # each process would drop other units
    shutil.copytree(source_of("pocket:gpt2-s"), still)
    config = json.loads((still / "config.json").read_text(encoding="utf-8"))
    config |= dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    (still / "config.json").unlink()
    (still / "config.json").write_text(json.dumps(config), encoding="utf-8")
    texts = [f"{text}{' Today' * (i % 3)}" for i, text in enumerate(TEXTS)]
    training = Training(learning_rate=5e-4, accumulation=4, epochs=1)
    alone = finetuned(str(still), texts, tmp_path / "one", training=training)
    (tmp_path / "texts").write_text("\n".join(texts))
    (tmp_path / "train.py").write_text(SCRIPT)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    paths = [str(tmp_path / name) for name in ("train.py", still.name, "texts", "two")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [*torchrun, "--nproc_per_node", "2", *paths], env=environment, check=True, timeout=300
    )
    said = json.loads((tmp_path / "two" / RECORD).read_text(encoding="utf-8"))
    assert (said["processes"], said["steps"]) == (2, 2)
    one, two = (load_file(folder / "model.safetensors") for folder in (alone, tmp_path / "two"))
    before = load_file(still / "model.safetensors")
    for name, weights in one.items():
        assert two[name] == pytest.approx(weights, abs=5e-5), name
    assert any(np.abs(one[n] - before[n]).max() > 5e-4 for n in one if n in before)


def test_models_that_cannot_be_trained_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="with weights"):
        source_of("reference:random")
    with pytest.raises(SettingsError, match="above 0"):
        Training(learning_rate=0)
    with pytest.raises(SettingsError, match="warmup"):
        Training(warmup=1.0)
