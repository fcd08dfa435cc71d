"""SmolLM2 behind llama.cpp, asked in two ways with one seed: the same replies, cell by cell."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.bridges.inspect.made_log import audit_log
from tests.present import present

from clinometer import audit
from clinometer.bridges.inspect import import_inspect
from clinometer.contexts import load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.models.replies import open_reader
from clinometer.runs import Run, RunFolder
from clinometer.storage.untrusted import NOTHING
from clinometer.topics import load_topic

#: Of Inspect itself.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

GROUPS = ["nurse", "engineer", "pilot"]
REPLIES = 16


def draws(run: Run) -> list[tuple[str, ...]]:
    """The stored replies of every cell, in order."""
    words = len(run.record.scored_words.words)
    found: dict[int, tuple[str, ...]] = {}
    n = run.preferences.values[:, :, 0].size
    for cells, scores in RunFolder(present(run.path)).read_scores(words=words, cells=n):
        found |= dict(zip(cells.tolist(), present(scores.draws), strict=True))
    return [found[cell] for cell in sorted(found)]


@pytest.fixture
def two_runs(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Run, Run]:
    topic = load_topic("gender").select(GROUPS)
    contexts = load_contexts("paper-gender").top(4)
    contexts.save(tmp_path / "four.csv")
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("LOCAL_BASE_URL", f"{llama}/v1")
    model = "openai-api-completions/local/smol"
    asked: dict[str, Any] = {"topic": topic, "contexts": contexts, "replies": REPLIES}
    ours = audit(f"openai:{llama}", out=tmp_path / "ours", **asked)
    log = audit_log(
        tmp_path / "logs",
        model,
        groups=",".join(GROUPS),
        contexts=str(tmp_path / "four.csv"),
        replies=REPLIES,
    )
    inside = import_inspect(log, out=tmp_path / "inside")
    return ours, inside


def test_the_same_replies_are_the_same_categories(two_runs: tuple[Run, Run]) -> None:
    """One seed per reply: the texts are the same but for what the server's batches round."""
    ours, inside = two_runs
    assert inside.preferences.groups == ours.preferences.groups
    assert inside.preferences.contexts == ours.preferences.contexts
    np.testing.assert_array_equal(
        inside.preferences.context_weights, ours.preferences.context_weights
    )
    pairs = list(zip(draws(ours), draws(inside), strict=True))
    texts = [a == b for one, two in pairs for a, b in zip(one, two, strict=True)]
    assert np.mean(texts) > 0.5
    alike = np.array([first_words(one) == first_words(two) for one, two in pairs])
    assert alike.any()
    cells = alike.reshape(ours.preferences.values.shape[:2])
    np.testing.assert_array_equal(
        inside.preferences.values[cells], ours.preferences.values[cells]
    )
    low, high = ours.risks.R.low, ours.risks.R.high
    assert low is None or high is None or low <= inside.risks.R.value <= high


def first_words(replies: tuple[str, ...]) -> list[str]:
    """What decides the category of each reply."""
    return [reply.split()[0] if reply.split() else "" for reply in replies]


def test_questions_are_asked_as_they_are_and_read_by_the_readout(
    llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The imported run is what our own readout makes of the same replies."""
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("LOCAL_BASE_URL", f"{llama}/v1")
    topic = load_topic("hiring")
    two = topic.select(topic.group_names[:2])
    default_contexts(two).top(2).save(tmp_path / "two.csv")
    log = audit_log(
        tmp_path / "logs",
        "openai-api/local/smol",
        topic="hiring",
        groups=list(two.group_names),
        contexts=str(tmp_path / "two.csv"),
        replies=16,
        reply_tokens=3,
    )
    run = import_inspect(log, out=tmp_path / "run")
    assert run.record.topic.reference == "group-mean"
    reader = open_reader(two.readout, two.attributes, NOTHING)
    counts: Counter[str] = Counter()
    for sample in read_eval_log_samples(log):
        prompt = two.render(sample.metadata["context"], sample.metadata["group"])
        assert sample.messages[0].text == prompt.before  # no instruction to continue it
        (category,) = reader.read([sample.output.completion], [present(prompt.shown)])
        assert present(sample.scores)["readout"].value == (
            "none" if category < 0 else two.categories[category]
        )
        counts["read" if category >= 0 else "other"] += 1
    assert counts["read"] > 0
    assert run.record.replies["replies"] == sum(counts.values()) == 64
    metrics = present(read_eval_log(log, header_only=True).results).scores[0].metrics
    assert metrics["read"].value == pytest.approx(counts["read"] / 64)
