"""Target terms are found as whole words; context words are counted without them."""

from __future__ import annotations

import pytest

from clinometer.reliability import Statement
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
