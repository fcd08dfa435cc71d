"""Target terms are found as whole words; blanks are read, written back and filled without loss;
pairs merge as the authors merged them, and come apart again."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability import Blanks, Merged, Statement, merge, target_term
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


WORDS = st.lists(st.sampled_from(["a", "b", "c", "not", "x."]), max_size=7).map(
    " ".join
)


@pytest.fixture(scope="module")
def published(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "cobias/merged_pairs.csv").open(encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ("They might not go", "They might go", "They might (not | ) go"),
        ("They go", "They go home", "They go ( | home)"),
        ("Same.", "Same.", "Same."),
        ("", "New.", "( | New.)"),
        ("It was teh end", "It was the end", "It was (teh | the) end"),
    ],
)
def test_merged_notation(first: str, second: str, merged: str) -> None:
    found = merge(first, second)
    assert str(found) == merged
    assert Merged.parse(merged) == found


@given(WORDS, WORDS)
def test_both_sides_can_be_recovered(a: str, b: str) -> None:
    found = merge(a, b)
    assert [found.side(0), found.side(1)] == [a, b]


def test_the_authors_merges_are_reproduced(published: list[dict[str, str]]) -> None:
    """97.4 % of the 3,614, and 98.1 % but for spaces; docs/reliability.md says what differs."""
    found = [str(merge(r["sentence_1"], r["sentence_2"])) for r in published]
    theirs = [r["sentence_merged"] for r in published]
    assert len(published) == 3614
    assert sum(a == b for a, b in zip(found, theirs, strict=True)) == 3519
    assert (
        sum(a.split() == b.split() for a, b in zip(found, theirs, strict=True)) == 3546
    )


def test_the_authors_crows_pairs_target_terms_are_reproduced(
    published: list[dict[str, str]],
) -> None:
    pairs = [r for r in published if r["original_dataset"] == "cs"]
    same = 0
    for row in pairs:
        side = 1 if row["direction"] == "antistereo" else 0
        term = target_term(merge(row["sentence_1"], row["sentence_2"]), side=side)
        same += (term or "").lower() == row["target_term"].strip().lower()
    assert same / len(pairs) > 0.96


@pytest.mark.parametrize(
    ("first", "second", "term"),
    [
        ("He wasn't fat.", "He was thin.", "fat"),
        ("Her friend is a woman.", "His friend is a man.", "woman"),
        ("She left.", "He left.", "She"),
        ("She is an Italian.", "She is a lawyer.", "Italian"),
        ("Tests are fun", "Tests are not fun", None),
        ("Same.", "Same.", None),
    ],
)
def test_target_term_rules(first: str, second: str, term: str | None) -> None:
    assert target_term(merge(first, second)) == term
