"""Runs lm-evaluation-harness itself, in its own environment, on local files only.

python run_harness.py pairs MODEL PAIRS.jsonl OUT   its own crows_pairs_english on these pairs
python run_harness.py task MODEL FOLDER OUT         a task that clinometer exported

MODEL is a folder. The samples in tests/data/lm_eval were made by the first from pairs.jsonl there,
with pocket:gpt2-s; of the results beside them only what the import reads was kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

_PAIRS = """\
include: {tasks}/crows_pairs/crows_pairs_english.yaml
task: crows_pairs_english
dataset_path: json
dataset_name: null
dataset_kwargs:
  data_files:
    test: {pairs}
"""


def main(what: str, model: str, source: str, out: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if what == "pairs":
            found = find_spec("lm_eval")
            assert found is not None
            assert found.origin is not None
            tasks = Path(found.origin).parent / "tasks"
            text = _PAIRS.format(tasks=tasks, pairs=Path(source).resolve())
            (Path(folder) / "crows_pairs_english.yaml").write_text(text, encoding="utf-8")
            included, task, dtype = folder, "crows_pairs_english", "float32"
        else:
            included = source
            task = next(Path(source).glob("*.yaml")).stem
            dtype = "float64"  # in float32 plain transformers is off by up to 2e-4
        subprocess.run(
            [
                *(sys.executable, "-m", "lm_eval", "--model", "hf"),
                *("--model_args", f"pretrained={model},dtype={dtype}", "--device", "cpu"),
                *("--include_path", included, "--tasks", task, "--batch_size", "16"),
                *("--log_samples", "--output_path", out),
            ],
            env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": f"{folder}/cache"},
            check=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
