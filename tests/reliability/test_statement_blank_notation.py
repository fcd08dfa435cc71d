"""Blanks are read and written back without loss, and filled as a writer would."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability import Blanks


@given(st.text(alphabet="ab_ .,\n", max_size=40))
def test_any_text_survives_a_round_trip(text: str) -> None:
    assert str(Blanks.parse(text)) == text


def test_every_published_statement_survives_a_round_trip(shared_data: Path) -> None:
    with (shared_data / "cobias/statements.csv").open(encoding="utf-8") as stream:
        points = [row["context_points"] for row in csv.DictReader(stream)]
    assert len(points) == 2291
    assert all(str(Blanks.parse(p)) == p for p in points)
    assert not any("__" in Blanks.parse(p).plain for p in points)


@pytest.mark.parametrize(
    ("text", "plain", "filled"),
    [
        ("No blank.", "No blank.", "No blank."),
        ("___ Women talk ___", "Women talk", "X Women talk X"),
        ("The ___ nurse is tired ___.", "The nurse is tired.", "The X nurse is tired X."),
        ("She was late ___ . He too.", "She was late. He too.", "She was late X . He too."),
        ("A ____ b", "A b", "A X b"),
        ("___", "", "X"),
    ],
)
def test_plain_and_filled(text: str, plain: str, filled: str) -> None:
    blanks = Blanks.parse(text)
    assert blanks.plain == plain
    assert blanks.fill(["X"] * len(blanks)) == filled


def test_positions_mark_where_a_filling_begins() -> None:
    blanks = Blanks.parse("___ Women at the ___ office talk ___.")
    assert [blanks.plain[:p] for p in blanks.positions] == [
        "",
        "Women at the ",
        "Women at the office talk",
    ]
