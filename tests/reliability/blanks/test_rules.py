"""Blanks by rule: the issue's sentence, target terms, and the verified statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.errors import SettingsError
from clinometer.reliability import Statement, load_statements
from clinometer.reliability.blanks import point_score, positions, rule_points, with_blanks
from clinometer.reliability.parsing import parse


def points(text: str, *targets: str) -> str:
    return next(rule_points([Statement(id="x", text=text, targets=targets)]))


def test_blanks_go_before_nouns_and_after_the_predicate() -> None:
    assert points("The women at the office are arrogant.") == (
        "The ___ women at the ___ office are arrogant ___."
    )
    assert points("Women buy drugs. All men lie") == "Women ___ buy ___ drugs ___. All men lie ___"


def test_names_and_fixed_phrases_stay_whole() -> None:
    assert points("They fooled Jamal at work.") == "They fooled Jamal at work ___."
    assert points("He stood in front of the house.") == "He stood in front of the ___ house ___."
    assert points("Nurses are tired.") == "Nurses ___ are tired ___."
    assert points("She took pride in most of Spain.") == "She took pride in most of ___ Spain ___."


def test_a_target_term_is_not_split() -> None:
    assert "the ___ office" in points("The women at the office are arrogant.")
    assert "the office" in points("The women at the office are arrogant.", "at the office")


@pytest.mark.parametrize("text", ["", "…", "?!"])
def test_a_text_that_says_nothing_gets_no_blank(text: str) -> None:
    assert points(text) == text


def test_an_unknown_parser_is_named() -> None:
    with pytest.raises(SettingsError, match="no spaCy pipeline"):
        list(parse(["A."], parser="nonsense"))


def test_positions_count_letters_and_survive_other_words() -> None:
    text = "He needed to fix it"
    assert positions("He needed ___ to fix it", text) == {8}
    assert positions("He needed ___ to fix the ___.", text) == {8, 15}
    assert positions("___ He needed", text) == {0}


def test_rules_beat_a_blank_everywhere_on_verified_statements(shared_data: Path) -> None:
    """A tenth of what benchmarks/points.py measures; all 2,291 give F1 0.645 against 0.387."""
    statements = load_statements(shared_data / "cobias/statements.csv")[::10]
    texts = [s.text for s in statements]
    verified = [s.points or "" for s in statements]
    rules = point_score(rule_points(statements), verified, texts)
    nouns = [
        with_blanks(doc.text, [t.idx for t in doc if t.pos_ in ("NOUN", "PROPN") and t.i])
        for doc in parse(texts)
    ]
    assert rules.f1 > 0.6
    assert rules.f1 > point_score(nouns, verified, texts).f1 + 0.15
