"""Scores reach the folder and the cache, whichever thread stores them."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import clinometer as cm
from clinometer.errors import RunError
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.run import Run
from clinometer.runs.scores.scoring import ModelQuery

TOPIC = cm.load_topic("gender").select(["nurse", "technician", "clerk"])
CHUNK = 4


@pytest.fixture
def said_to_be_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    load = ModelQuery.open

    def opened(query: ModelQuery) -> Any:
        scorer: Any = load(query)
        scorer.info = replace(scorer.info, device="cuda")
        return scorer

    monkeypatch.setattr(ModelQuery, "open", opened)
    module = sys.modules["clinometer.runs.audit"]  # the package shows the function of this name
    monkeypatch.setattr(module, "_chunk_size", lambda _device: CHUNK)


def audited(out: Path) -> Run:
    return cm.audit("pocket:gpt2-s", topic=TOPIC, contexts="paper", device="cpu", out=out)


@pytest.mark.usefixtures("said_to_be_on_a_gpu")
def test_beside_a_gpu_another_thread_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RunFolder.write_scores
    storing: list[str] = []

    def seen(folder: RunFolder, scored: Any) -> None:
        storing.append(threading.current_thread().name)
        write(folder, scored)

    monkeypatch.setattr(RunFolder, "write_scores", seen)
    run = audited(tmp_path / "run")
    assert {name.rpartition("_")[0] for name in storing} == {"behind"}
    again = cm.audit(
        "pocket:gpt2-s", topic=TOPIC, contexts="paper", device="cpu", out=run.path, replay=True
    )
    assert again.preferences.equals(run.preferences)


@pytest.mark.usefixtures("said_to_be_on_a_gpu")
def test_what_cannot_be_stored_ends_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RunFolder.write_scores

    def fail(_folder: RunFolder, _scored: Any) -> None:
        raise RunError("no space left")

    monkeypatch.setattr(RunFolder, "write_scores", fail)
    with pytest.raises(RunError, match="no space left"):
        audited(tmp_path / "run")
    monkeypatch.setattr(RunFolder, "write_scores", write)
    assert audited(tmp_path / "run").preferences.equals(audited(tmp_path / "other").preferences)
