"""lm-evaluation-harness itself, on a small model: the stored samples are what it writes today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from clinometer.bridges.lm_eval import import_lm_eval
from clinometer.models import ModelSpec

STORED = Path(__file__).parents[2] / "data" / "lm_eval"


def test_the_harness_writes_what_is_read(tmp_path: Path) -> None:
    harness = Path(__file__).with_name("run_harness.py")
    model = ModelSpec.parse("pocket:gpt2-s").target
    command = [sys.executable, harness, model, STORED / "pairs.jsonl", tmp_path]
    done = subprocess.run(
        [str(w) for w in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (samples,) = tmp_path.rglob("samples_crows_pairs_english_*.jsonl")
    (stored,) = STORED.glob("samples_*.jsonl")
    now, before = (import_lm_eval(file).preferences for file in (samples, stored))
    assert (now.groups, now.contexts) == (before.groups, before.contexts)
    np.testing.assert_allclose(now.values, before.values, atol=1e-4)
