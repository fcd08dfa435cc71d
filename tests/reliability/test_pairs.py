"""Pairs merge as the authors merged them, and come apart again."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability import Merged, merge, target_term

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
