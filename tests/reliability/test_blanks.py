"""Blanks: by rules or by a model, whose answers are checked, retried, replaced and written down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.present import loaded
from tests.processes import ROOT

from clinometer.errors import RunError
from clinometer.models import ModelInfo
from clinometer.models.protocol import Turn
from clinometer.reliability import Statement, load_statements
from clinometer.reliability.blanks import (
    PointSettings,
    accept,
    propose_points,
    with_blanks,
)
from clinometer.reliability.statement import Blanks, Refused, find_term

TEXT = "The well-known poor don't save money, they say."
OFFICE = "The women at the office are arrogant."


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("The __ nurse is tired.", "The ___ nurse is tired."),
        ("The nurse is tired. ____", "The nurse is tired ___."),
        ("____ The nurse is tired.", "___ The nurse is tired."),
        ("The ____ ____ nurse is tired.", "The ___ nurse is tired."),
        ("The nurse  is tired____.", "The nurse is tired ___."),
    ],
)
def test_blanks_are_carried_over(answer: str, kept: str) -> None:
    assert accept(answer, "The nurse is tired.") == kept


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("The well-known poor don't save money, they say.", "no_blank"),
        ("The well-known poor don't save ____ cash, they say.", "text_changed"),
        ("The well-known poor don't save ____ money", "text_changed"),
        ("the well-known poor don't save ____ money, they say.", "text_changed"),
        ("The well-known poor do ____ n't save money, they say.", "inside_a_word"),
        ("The well ____ -known poor don't save money, they say.", "inside_a_word"),
        ("The well-known ____ poor don't save money, they say.", "inside_a_target"),
        ("Sure! The well-known poor don't save ____ money, they say.", "text_changed"),
    ],
)
def test_anything_else_is_refused_by_name(answer: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        accept(answer, TEXT, find_term(TEXT, "well-known poor"))
    assert str(refused.value) == reason


@given(st.data())
def test_written_blanks_are_accepted_and_leave_the_text_unchanged(
    data: st.DataObject,
) -> None:
    words = data.draw(
        st.lists(st.sampled_from(["the", "poor", "don't", "say"]), min_size=1)
    )
    text = " ".join(words) + data.draw(st.sampled_from(["", ".", "?!"]))
    starts = [
        i
        for i in range(len(text))
        if text[i].isalnum() and (i == 0 or text[i - 1] == " ")
    ]
    end = len(text.rstrip(".?!"))
    places = data.draw(st.sets(st.sampled_from([*starts, end]), min_size=1))
    points = with_blanks(text, places)
    assert Blanks.parse(points).plain == text
    assert len(Blanks.parse(points)) == len(places)
    assert accept(points, text) == points


@pytest.mark.parametrize(
    ("text", "target", "points"),
    [
        (OFFICE, "", "The ___ women at the ___ office are arrogant ___."),
        # a target term is not split
        (OFFICE, "at the office", "The ___ women at the office are arrogant ___."),
        (
            "Women buy drugs. All men lie",
            "",
            "Women ___ buy ___ drugs ___. All men lie ___",
        ),
        ("They fooled Jamal at work.", "", "They fooled Jamal at work ___."),
        (
            "He stood in front of the house.",
            "",
            "He stood in front of the ___ house ___.",
        ),
        ("Nurses are tired.", "", "Nurses ___ are tired ___."),
        (
            "She took pride in most of Spain.",
            "",
            "She took pride in most of ___ Spain ___.",
        ),
        *((text, "", text) for text in ("", "…", "?!")),
    ],
)
def test_rules_put_blanks_before_nouns_and_after_clauses(
    text: str, target: str, points: str
) -> None:
    """Names and fixed phrases stay whole; a text that says nothing gets no blank."""
    targets = (target,) if target else ()
    found = propose_points([Statement(id="x", text=text, targets=targets)])
    assert [(r["context_points"], r["proposer"]) for r in found.rows] == [
        (points, "rules")
    ]
    assert found.counts["acceptance"] is None


def test_rules_beat_a_blank_everywhere_on_verified_statements(
    shared_data: Path,
) -> None:
    """A tenth of what benchmarks/points.py measures; all 2,291 give F1 0.645 against 0.387."""
    points = loaded(ROOT / "benchmarks" / "points.py")
    scores = points.measured(shared_data / "cobias/statements.csv", every=10)["scores"]
    assert scores["rules"]["f1"] > 0.6
    assert scores["rules"]["f1"] > scores["every noun"]["f1"] + 0.15


STATEMENTS = [
    Statement(id="a", text="The nurse is tired.", targets=("nurse",)),
    Statement(id="b", text=OFFICE),
]


class Scripted:
    """A writer that says what it was told to, over and over, and remembers how it was asked: the
    first and last turn, the temperature and the seed."""

    info = ModelInfo("scripted", "causal", "0")

    def __init__(self, *answers: str) -> None:
        self.answers = cycle(answers)
        self.asked: list[tuple[Turn, Turn, float, int]] = []

    def write(self, turns: Sequence[Turn], *, n: int = 1, **how: Any) -> list[str]:
        self.asked.append((turns[0], turns[-1], how["temperature"], how["seed"]))
        return list(islice(self.answers, n))


def test_model_answers_are_checked_retried_and_replaced() -> None:
    writer = Scripted(
        "The doctor ____ is tired.", "The nurse is ____ tired.", "no", "No.", ""
    )
    found = propose_points(
        STATEMENTS, settings=PointSettings(model="scripted"), writer=writer
    )
    first, second = found.rows
    assert first["context_points"] == "The nurse is ___ tired."
    assert (first["proposer"], first["answers"]) == (
        "model",
        ["text_changed", "accepted"],
    )
    assert (second["proposer"], len(second["answers"])) == ("rules", 3)
    assert found.counts["acceptance"] == 1 / 5
    temperatures = [asked[2] for asked in writer.asked]
    assert temperatures == [
        0.0,
        0.7,
        0.0,
        0.7,
        0.7,
    ]  # the most probable answer comes first
    assert len({asked[3] for asked in writer.asked}) == 5


def test_a_writer_can_be_asked_as_in_the_paper() -> None:
    """Figure 6: its system message, the merged pair, and the API's default temperature."""
    pair = Statement("a", "The poor are tired.", ("poor",), other="The rich are tired.")
    writer = Scripted(
        "The (poor | rich) were ____ tired.", "The (poor | rich) are ____ tired."
    )
    settings = PointSettings(model="scripted", as_in_paper=True)
    found = propose_points([pair], settings=settings, writer=writer)
    assert found.rows[0]["context_points"] == "The poor are ___ tired."
    assert found.rows[0]["answers"] == ["text_changed", "accepted"]
    for opening, *asked, _ in writer.asked:
        assert opening[0] == "system"
        assert opening[1].startswith("You are an obedient chatbot")
        assert asked == [("user", "The (poor | rich) are tired."), 1.0]
    writer = Scripted("The poor are ____ tired.")
    propose_points([pair], settings=PointSettings(model="scripted"), writer=writer)
    assert writer.asked[0][0][0] == "user"
    assert writer.asked[0][1:3] == (("user", "The poor are tired."), 0.0)


def test_an_interrupted_run_resumes_and_reads_back_as_statements(
    tmp_path: Path,
) -> None:
    out = tmp_path / "points.jsonl"
    propose_points(STATEMENTS, out=out)
    whole = out.read_text(encoding="utf-8")
    out.write_text(
        whole.splitlines()[0] + '\n{"id": "b", "sente', encoding="utf-8"
    )  # killed
    again = propose_points(STATEMENTS, out=out)
    assert out.read_text(encoding="utf-8") == whole
    assert again.counts["statements"] == 2
    assert json.loads(out.with_suffix(".json").read_text())["status"] == "finished"
    read = load_statements(out)
    assert [s.points for s in read] == [r["context_points"] for r in again.rows]
    assert read[0].targets == ("nurse",)
    other = tmp_path / "mine.jsonl"
    other.write_text("{}\n")
    with pytest.raises(RunError, match="not from this command"):
        propose_points(STATEMENTS, out=other)
    with pytest.raises(RunError, match=r"ends in \.jsonl"):
        propose_points(STATEMENTS, out=tmp_path / "points.csv")
