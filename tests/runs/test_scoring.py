"""Scores reach the folder and the cache, whichever thread makes them."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clinometer as cm
from clinometer.errors import RunError
from clinometer.models import LoadOptions, ModelSpec, WordOptions
from clinometer.models.replies import ReadoutQuery
from clinometer.runs.audited_model import AuditedModel, CellBlock
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.run import Run
from clinometer.runs.scoring import ReplyProgress
from clinometer.topics import Prompt, Topic, parse_topic

TOPIC = cm.load_topic("gender").select(["nurse", "technician", "clerk"])
CHUNK = 4


@pytest.fixture
def said_to_be_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    load = AuditedModel.open

    def opened(model: AuditedModel) -> Any:
        scorer: Any = load(model)
        scorer.info = replace(scorer.info, device="cuda")
        return scorer

    monkeypatch.setattr(AuditedModel, "open", opened)
    module = sys.modules[
        "clinometer.runs.audit"
    ]  # the package shows the function of this name
    monkeypatch.setattr(module, "_chunk_size", lambda _device: CHUNK)


def asked(name: str, words: tuple[str, ...], topic: Topic = TOPIC) -> AuditedModel:
    load = LoadOptions(device="cpu")
    readout = ReadoutQuery.of(topic)
    return AuditedModel(ModelSpec.parse(name), load, WordOptions(), words, readout)


def audited(out: Path) -> Run:
    return cm.audit(
        "pocket:gpt2-s", topic=TOPIC, contexts="paper", device="cpu", out=out
    )


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
        "pocket:gpt2-s", topic=TOPIC, contexts="paper", device="cpu", out=run.path
    )
    assert again.preferences.equals(run.preferences)


@pytest.mark.usefixtures("said_to_be_on_a_gpu")
def test_what_cannot_be_stored_ends_the_audit_which_resumes_as_if_it_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RunFolder.write_scores
    parts: list[Any] = []

    def interrupted(folder: RunFolder, scored: Any) -> None:
        if parts:
            raise RunError("no space left")
        parts.append(scored)
        write(folder, scored)

    monkeypatch.setattr(RunFolder, "write_scores", interrupted)
    with pytest.raises(RunError, match="no space left"):
        audited(tmp_path / "run")
    monkeypatch.setattr(RunFolder, "write_scores", write)
    run = audited(tmp_path / "run")
    assert run.preferences.equals(audited(tmp_path / "other").preferences)


@pytest.mark.parametrize(
    ("normalise", "tolerance"), [("per-token", 0.0), ("sum", None)]
)
def test_options_taken_per_token_are_scored_exactly(
    normalise: str, tolerance: float | None
) -> None:
    """The root of a small probability is not small: no bound on the probability would hold."""
    topic = parse_topic(
        'name = "t"\ngroups = ["Ann", "Bob"]\n[attributes]\nyes = ["Yes indeed"]\nno = ["No"]\n'
        f'[readout]\nkind = "choice"\nlabels = "none"\nnormalise = "{normalise}"\n'
        '[contexts]\nwording = ["Is [X] in? Answer [options]. [Y]"]'
    )
    opened: Any = asked("pocket:gpt2-s", topic.words, topic).open()
    assert opened.scorer.options.tolerance == tolerance


@pytest.mark.parametrize("name", ["pocket:gpt2-s", "pocket:bert", "pocket:t5"])
def test_a_gpu_scores_the_next_block_while_the_last_is_stored(name: str) -> None:
    """With the model on a CPU, said to be on a GPU: two blocks at once get their own numbers."""
    blocks = [
        CellBlock(
            np.arange(k, k + 4),
            [Prompt(f"The {n} {k} said", "", space=True) for n in "abcd"],
        )
        for k in range(0, 48, 4)
    ]
    model = asked(name, ("he", "she", "hers"))
    alone = list(model.score(blocks))
    scorer: Any = model.scorer
    scorer.info = replace(scorer.info, device="cuda")
    score = scorer.score
    callers: list[int] = []

    def seen(*args: Any) -> Any:
        callers.append(threading.get_ident())
        return score(*args)

    scorer.score = seen
    ahead = list(model.score(blocks))
    assert len(callers) == len(blocks)
    assert threading.get_ident() not in callers
    for (block, scores), (block_ahead, scores_ahead) in zip(alone, ahead, strict=True):
        assert block is block_ahead
        np.testing.assert_array_equal(scores.log_probs, scores_ahead.log_probs)


def test_progress_moves_with_every_cell_that_is_answered_and_never_back() -> None:
    shown: list[tuple[int, int]] = []
    progress = ReplyProgress(
        lambda done, total: shown.append((done, total)), done=10, replies_per_cell=3
    )
    progress(10, 100)
    for _ in range(7):
        progress.count_reply()
    progress(11, 100)  # a block of one cell is stored while others are on their way
    progress(26, 100)
    assert shown == [(10, 100), (11, 100), (12, 100), (12, 100), (26, 100)]
