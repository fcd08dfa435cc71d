"""The task clinometer/audit in Inspect itself, with a model that answers as it is told."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from tests.bridges.inspect.made_log import N, answered

from clinometer.bridges.inspect import import_inspect
from clinometer.models.generation.sampled import Recogniser
from clinometer.topics import load_topic


def header(log: Path) -> Any:
    from inspect_ai.log import read_eval_log

    return read_eval_log(log, header_only=True)


def test_inspect_finds_the_task_by_its_entry_point() -> None:
    (entry,) = entry_points(group="inspect_ai", name="clinometer")
    assert entry.value == "clinometer.bridges.inspect_task"
    from inspect_ai._util.registry import registry_lookup

    assert registry_lookup("task", "clinometer/audit") is not None


def test_one_sample_per_cell_and_one_epoch_per_reply(log: Path) -> None:
    found = header(log)
    assert found.status == "success"
    assert found.eval.config.epochs == N
    assert found.eval.dataset.samples == 2 * 10


@pytest.mark.parametrize("groups", ["nurse", "nurse, engineer", ["nurse", "engineer"]])
def test_groups_as_the_command_line_gives_them(groups: str | list[str]) -> None:
    """Inspect makes a list of -T groups=nurse,engineer."""
    from clinometer.bridges.inspect_task import audit

    asked = {sample.metadata["group"] for sample in audit(groups=groups).dataset}
    assert asked == ({"nurse"} if groups == "nurse" else {"nurse", "engineer"})


def test_metrics_are_the_risks_with_their_ends(log: Path) -> None:
    """Those of the imported run, whose scores are stored in 32 bits."""
    (scores,) = header(log).results.scores
    metrics = {name: one.value for name, one in scores.metrics.items()}
    run = import_inspect(log)
    assert (
        metrics.pop("read") == run.record.replies["replies_words"] / run.record.replies["replies"]
    )
    expected = {
        f"{name}{end}": getattr(run.risks.summary[name], field)
        for name in ("R", "R_bias", "R_volatility")
        for end, field in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    assert metrics == pytest.approx({k: v for k, v in expected.items() if v is not None}, abs=1e-4)
    assert metrics["R"] > 0


def test_the_scorer_reads_as_an_audit_does(log: Path) -> None:
    from inspect_ai.log import read_eval_log_samples

    topic = load_topic("gender")
    rules = Recogniser.of(topic.words)
    seen = set()
    for sample in read_eval_log_samples(log):
        assert sample.scores is not None
        score = sample.scores["readout"]
        number = rules.read(sample.output.completion, str(sample.input))
        word = topic.words[number] if number >= 0 else ""
        homes = [c for c, words in topic.attributes.items() if word in words]
        assert score.value == (homes[0] if homes else "none")
        assert sample.output.completion == answered(str(sample.input), sample.epoch)
        seen.add(score.value)
    assert seen == {"male", "female", "none"}
