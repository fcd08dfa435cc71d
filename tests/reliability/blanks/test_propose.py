"""A model is asked, asked again, and replaced by the rules; all of it is written down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from clinometer.errors import RunError, SettingsError
from clinometer.models import ModelInfo
from clinometer.models.generation.writer import Turn
from clinometer.reliability import Statement, load_statements
from clinometer.reliability.blanks import PointSettings, propose_points

STATEMENTS = [
    Statement(id="a", text="The nurse is tired.", targets=("nurse",)),
    Statement(id="b", text="The women at the office are arrogant."),
]


class Scripted:
    """A writer that says what it was told to, and remembers how it was asked."""

    info = ModelInfo("scripted", "causal", "0")

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Turn, float, int]] = []

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        self.asked.append((turns[-1], temperature, seed))
        return [self.answers.pop(0) for _ in range(n)]


def test_rules_propose_blanks_without_a_model() -> None:
    found = propose_points(STATEMENTS)
    assert [r["context_points"] for r in found.rows] == [
        "The ___ nurse is tired ___.",
        "The ___ women at the ___ office are arrogant ___.",
    ]
    assert {r["proposer"] for r in found.rows} == {"rules"}
    assert found.counts["acceptance"] is None


def test_model_answers_are_checked_retried_and_replaced() -> None:
    writer = Scripted("The doctor ____ is tired.", "The nurse is ____ tired.", "no", "No.", "")
    found = propose_points(STATEMENTS, settings=PointSettings(model="scripted"), writer=writer)
    first, second = found.rows
    assert first["context_points"] == "The nurse is ___ tired."
    assert (first["proposer"], first["answers"]) == ("model", ["text_changed", "accepted"])
    assert (second["proposer"], len(second["answers"])) == ("rules", 3)
    assert found.counts["acceptance"] == 1 / 5
    temperatures = [t for _, t, _ in writer.asked]
    assert temperatures == [0.0, 0.7, 0.0, 0.7, 0.7]  # the most probable answer comes first
    assert len({seed for _, _, seed in writer.asked}) == 5


def test_an_interrupted_run_resumes_and_reads_back_as_statements(tmp_path: Path) -> None:
    out = tmp_path / "points.jsonl"
    propose_points(STATEMENTS, out=out)
    whole = out.read_text(encoding="utf-8")
    out.write_text(whole.splitlines()[0] + '\n{"id": "b", "sente', encoding="utf-8")  # killed
    again = propose_points(STATEMENTS, out=out)
    assert out.read_text(encoding="utf-8") == whole
    assert again.counts["statements"] == 2
    assert json.loads(out.with_suffix(".json").read_text())["status"] == "finished"
    read = load_statements(out)
    assert [s.points for s in read] == [r["context_points"] for r in again.rows]
    assert read[0].targets == ("nurse",)


def test_other_settings_and_foreign_files_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "points.jsonl"
    propose_points(STATEMENTS, out=out)
    with pytest.raises(RunError, match="other settings: seed"):
        propose_points(STATEMENTS, out=out, settings=PointSettings(seed=1))
    propose_points(STATEMENTS, out=out, settings=PointSettings(seed=1), fresh=True)
    other = tmp_path / "mine.jsonl"
    other.write_text("{}\n")
    with pytest.raises(RunError, match="not from this command"):
        propose_points(STATEMENTS, out=other)
    with pytest.raises(RunError, match=r"ends in \.jsonl"):
        propose_points(STATEMENTS, out=tmp_path / "points.csv")


def test_settings_are_checked() -> None:
    with pytest.raises(SettingsError, match="attempts"):
        PointSettings(attempts=0)
    with pytest.raises(SettingsError, match="retry_temperature"):
        PointSettings(retry_temperature=0)


@pytest.mark.usefixtures("smollm2")
def test_the_embedded_model_proposes_blanks() -> None:
    settings = PointSettings(model="smollm2", attempts=1)
    row = propose_points(STATEMENTS[:1], settings=settings).rows[0]
    assert len(row["answers"]) == 1
    assert row["proposer"] == ("model" if row["answers"] == ["accepted"] else "rules")
