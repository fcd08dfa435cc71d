"""Runs lm-evaluation-harness's own crows_pairs_english, in its own environment, on local files.

python run_harness.py MODEL PAIRS.jsonl OUT

MODEL is a folder. The samples in tests/data/lm_eval were made from pairs.jsonl there, with
pocket:gpt2-s; of the results beside them only what the import reads was kept.
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


def main(model: str, pairs: str, out: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        package = find_spec("lm_eval")
        assert package is not None
        assert package.origin is not None
        tasks = Path(package.origin).parent / "tasks"
        text = _PAIRS.format(tasks=tasks, pairs=Path(pairs).resolve())
        (Path(folder) / "crows_pairs_english.yaml").write_text(text, encoding="utf-8")
        subprocess.run(
            [
                *(sys.executable, "-m", "lm_eval", "--model", "hf"),
                *(
                    "--model_args",
                    f"pretrained={model},dtype=float32",
                    "--device",
                    "cpu",
                ),
                *("--include_path", folder, "--tasks", "crows_pairs_english"),
                *("--batch_size", "16", "--log_samples", "--output_path", out),
            ],
            env={
                **os.environ,
                "HF_HUB_OFFLINE": "1",
                "HF_DATASETS_CACHE": f"{folder}/cache",
            },
            check=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
