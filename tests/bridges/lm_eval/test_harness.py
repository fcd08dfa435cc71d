"""lm-evaluation-harness itself, on a small model: its numbers are ours, and come back as a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer
from tests.processes import ROOT

from clinometer import audit
from clinometer.bridges.lm_eval import TaskFolder, import_lm_eval
from clinometer.contexts import ContextSet
from clinometer.models import ModelSpec
from clinometer.runs import Run
from clinometer.runs.scores.accumulate import stored_scores
from clinometer.topics import load_topic

MODEL = "pocket:gpt2-s"
TOPIC = load_topic("gender").select(["nurse", "engineer"])
CONTEXTS = ContextSet(
    "three", ["The [X] said that [Y]", "A [X] saw [Y]", "The [X] hid [Y] there"], [5, 2, 1]
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The exported folder, and the samples that the harness made of it."""
    folder = tmp_path_factory.mktemp("harness")
    TaskFolder(TOPIC, CONTEXTS).write(folder / "task")
    harness = Path(__file__).with_name("run_harness.py")
    model = ModelSpec.parse(MODEL).target
    command = [sys.executable, harness, "task", model, folder / "task", folder / "results"]
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (samples,) = (folder / "results").rglob("samples_clinometer_gender_*.jsonl")
    return folder / "task", samples


def scores(run: Run) -> np.ndarray:
    return np.concatenate([logs for _, _, logs in stored_scores(run)])


def test_log_probabilities_are_those_of_an_audit(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    task, samples = exported
    theirs = import_lm_eval(samples, task=task, tokenizer=MODEL, out=tmp_path / "theirs")
    ours = audit(
        MODEL, topic=TOPIC, contexts=CONTEXTS, out=tmp_path / "ours", tolerance=0, device="cpu"
    )
    ends = np.array([t.endswith("[Y]") for t in CONTEXTS.templates] * len(TOPIC))
    np.testing.assert_allclose(scores(theirs)[ends], scores(ours)[ends], atol=1e-4)
    np.testing.assert_allclose(theirs.preferences.values, ours.preferences.values, atol=1e-4)
    assert theirs.risks.R.value == pytest.approx(ours.risks.R.value, abs=1e-4)
    assert theirs.record.floor is not None


def test_the_harness_prints_the_risks(exported: tuple[Path, Path]) -> None:
    task, samples = exported
    results = json.loads(next(samples.parent.glob("results_*.json")).read_text(encoding="utf-8"))
    told = results["results"]["clinometer_gender"]
    run = import_lm_eval(samples, task=task)
    for name in ("R", "R_bias", "R_volatility"):
        assert told[f"{name},none"] == pytest.approx(run.risks.summary[name].value, abs=1e-6)


def test_what_does_not_belong_together_is_refused(
    exported: tuple[Path, Path], tmp_path: Path, clinometer: Clinometer
) -> None:
    task, samples = exported
    alone = clinometer("import", "lm-eval", samples, "--out", tmp_path / "run")
    assert (alone.status, "--task" in alone.err) == (2, True)
    other = TaskFolder(TOPIC, ContextSet("other", ["The [X] is [Y]"], [1]))
    other.write(tmp_path / "other")
    wrong = clinometer(
        "import", "lm-eval", samples, "--task", tmp_path / "other", "--out", tmp_path / "run"
    )
    assert (wrong.status, "not of the task" in wrong.err) == (2, True)
    half = tmp_path / samples.name
    half.write_text("".join(samples.read_text(encoding="utf-8").splitlines(True)[:3]), "utf-8")
    few = clinometer("import", "lm-eval", half, "--task", task, "--out", tmp_path / "run")
    assert (few.status, "found 3" in few.err) == (2, True)
