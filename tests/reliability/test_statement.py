"""Target terms are found as whole words; blanks are read, written back and filled without loss."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability import Blanks, Statement
from clinometer.reliability.statement import count_words, find_term, find_terms


@pytest.mark.parametrize(
    ("text", "term", "found"),
    [
        ("Black cats, a black dog, blackbirds.", "black", ["Black", "black"]),
        ("The chess  player won.", "Chess player", ["chess  player"]),
        ("Schoolgirls sing; churches too.", "schoolgirl", ["Schoolgirls"]),
        ("Jaleel's father left.", "Jaleel", ["Jaleel"]),
        ("C++ (really) pays.", "C++", ["C++"]),
        ("Nobody here.", "nurse", []),
        ("Nobody here.", "  ", []),
        ("זקן הוא רופא.", "רופא", ["רופא"]),
        ("😀 nurses 😀", "nurse", ["nurses"]),
    ],
)
def test_find_term(text: str, term: str, found: list[str]) -> None:
    assert [text[a:b] for a, b in find_term(text, term)] == found


def test_terms_are_found_in_order_and_once() -> None:
    text = "She said he knew she lied."
    spans = find_terms(text, ("he", "she", "SHE"))
    assert [text[a:b] for a, b in spans] == ["She", "he", "she"]


@pytest.mark.parametrize(
    ("text", "term", "words"),
    [
        ("Women are arrogant.", "women", 2),
        ("(Women) are - well - arrogant!", "women", 3),
        ("Women", "women", 0),
        ("", "women", 0),
        ("Women-led firms fail.", "women", 3),
    ],
)
def test_count_words(text: str, term: str, words: int) -> None:
    assert count_words(text, find_term(text, term)) == words


def test_a_statement_knows_whether_it_contains_its_target() -> None:
    assert Statement("1", "Women sing.", ("women",)).has_its_targets
    assert Statement("1", "Women sing.").has_its_targets
    assert not Statement("1", "Women sing.", ("men",)).has_its_targets


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
