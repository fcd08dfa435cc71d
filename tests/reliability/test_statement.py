"""Target terms are found as whole words; blanks are read, written back and filled without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability import Blanks, Statement
from clinometer.reliability.statement import count_words, find_term


@pytest.mark.parametrize(
    ("text", "term", "found"),
    [
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
    spans = Statement("1", text, ("he", "she", "SHE")).target_spans()
    assert [text[a:b] for a, b in spans] == ["She", "he", "she"]


@pytest.mark.parametrize(
    ("text", "term", "words"),
    [
        ("(Women) are - well - arrogant!", "women", 3),
        ("Women", "women", 0),
        ("", "women", 0),
        ("Women-led firms fail.", "women", 3),
    ],
)
def test_count_words(text: str, term: str, words: int) -> None:
    assert count_words(text, find_term(text, term)) == words


@given(st.text(alphabet="ab_ .,\n", max_size=40))
def test_any_text_survives_a_round_trip(text: str) -> None:
    assert str(Blanks.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "plain", "filled"),
    [
        ("No blank.", "No blank.", "No blank."),
        ("___ Women talk ___", "Women talk", "X Women talk X"),
        (
            "She was late ___ . He too.",
            "She was late. He too.",
            "She was late X . He too.",
        ),
        ("A ____ b", "A b", "A X b"),
        ("___", "", "X"),
    ],
)
def test_plain_and_filled(text: str, plain: str, filled: str) -> None:
    blanks = Blanks.parse(text)
    assert blanks.plain == plain
    assert blanks.fill(["X"] * len(blanks)) == filled
