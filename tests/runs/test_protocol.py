"""A protocol is written before the first answer; run and report say what was not as planned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clinometer.contexts import load_contexts
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.protocol import Protocol, protocol_sentences
from clinometer.topics import load_topic

MODEL = "reference:stereotyped"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    Protocol.new(
        [MODEL],
        ("gender", load_topic("gender")),
        (None, load_contexts("paper-gender")),
        AuditSettings(population="corpus"),
        fail_above=["R=0.4"],
        tests=['a "quoted" test'],
    ).write(path)
    return path


def test_a_protocol_reads_back_as_written(plan: Path) -> None:
    found, sha256 = Protocol.read(plan)
    assert found.tests == ['a "quoted" test']
    assert found.norm == float("inf")
    assert len(sha256) == 64
    with pytest.raises(SettingsError, match="written once"):
        found.write(plan)


def test_a_run_says_that_it_went_as_planned(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    audit(MODEL, out=out, settings=AuditSettings(population="corpus"), protocol=plan)
    run = Run.load(out)
    assert run.record.protocol is not None
    assert run.record.protocol.deviations == []
    assert "The audit went as planned." in protocol_sentences(run.record.protocol)


def test_a_run_says_what_was_not_as_planned(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    topic = load_topic("gender").select(["nurse", "teacher"])
    audit("reference:random", topic=topic, out=out, protocol=plan)
    stored = json.loads((out / "run.json").read_text())["protocol"]
    assert stored["deviations"] == [
        "model reference:random was not planned",
        "another topic, or other groups, than planned",
        "population similar, planned corpus",
    ]
    said = protocol_sentences(Run.load(out).record.protocol)
    assert said[-1].startswith("Not as planned: model")


def test_a_plan_after_the_first_answer_is_a_deviation(tmp_path: Path, plan: Path) -> None:
    topic = load_topic("gender").select(["nurse"])
    how: dict[str, Any] = {"topic": topic, "contexts": "paper-gender", "out": tmp_path / "run"}
    audit("pocket:gpt2-s", **how, replicates=0)
    run = audit("pocket:gpt2-s", **how, replicates=0, protocol=plan)
    assert run.record.protocol is not None
    assert "after the first answer" in run.record.protocol.deviations[-1]


def test_without_a_protocol_the_report_says_so() -> None:
    assert "nothing here was fixed" in protocol_sentences(None)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [("models = [", "expected TOML"), ("models = 3\n", "created"), ("invented = 1\n", "created")],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        Protocol.read(path)
    assert str(path) in str(caught.value)


def test_the_command_follows_its_file(tmp_path: Path, clinometer: Any, plan: Path) -> None:
    path = tmp_path / "new.toml"
    made = clinometer(
        "plan", "--model", MODEL, "--fail-above", "R=0.4", "--population", "corpus",
        "--protocol", path,
    )  # fmt: skip
    assert made.status == 0
    shown = clinometer("audit", "--protocol", path, "--out", tmp_path / "run", "--json")
    assert shown.status == 1  # the stereotyped model is above its limit
    (run,) = json.loads(shown.out)["runs"]
    assert run["protocol"]["deviations"] == []
    assert run["population"] == "corpus"
    assert clinometer("plan", "--precision", "0.02").status == 0
    both = clinometer(
        "plan", "--model", MODEL, "--precision", "0.02", "--protocol", tmp_path / "both.toml"
    )
    assert "effective contexts" in both.out
    assert Protocol.read(tmp_path / "both.toml")[0].precision == 0.02
    assert "--model" in clinometer("plan", "--protocol", tmp_path / "none.toml").err
    assert clinometer("plan").status == 2
