"""Which built-in phrases suit a blank: by its kind, its noun, its article and its clause."""

from __future__ import annotations

import pytest

from clinometer.reliability.parsing import parse
from clinometer.reliability.statement import Blanks
from clinometer.reliability.variants.phrases import candidates, kind_of, phrases


def kinds(points: str) -> list[str]:
    blanks = Blanks.parse(points)
    doc = next(iter(parse([blanks.plain])))
    return [kind_of(doc, place) for place in blanks.positions]


def offered(points: str) -> set[str]:
    blanks = Blanks.parse(points)
    doc = next(iter(parse([blanks.plain])))
    (place,) = blanks.positions
    return set(candidates(kind_of(doc, place), doc, place))


def test_the_position_decides_the_kind() -> None:
    assert kinds("The ___ women at the ___ office are arrogant ___.") == [
        "modifier",
        "modifier",
        "adjunct",
    ]
    assert kinds("Women ___ are ___ tired.") == ["after_noun", "adverb"]


def test_modifiers_suit_the_article_and_the_noun() -> None:
    assert {p[0] in "aeiou" for p in offered("He met an ___ officer.")} == {True}
    assert {p[0].lower() in "aeiou" for p in offered("He met a ___ nurse.")} == {False}
    assert "middle-aged" in offered("The ___ women left.")
    assert "middle-aged" not in offered("The ___ car left.")
    assert "nearby" in offered("They met at the ___ office.")
    assert "northern" in offered("He came from ___ Spain.")
    assert "young" in offered("The ___ software developer left.")


def test_a_noun_that_is_not_known_and_an_adjective_take_nothing() -> None:
    assert offered("The ___ quark spins.") == set()
    assert offered("The ___ tall man left.") == set()


def test_what_follows_suits_tense_aspect_and_subject() -> None:
    past, state = offered("She lost her keys ___."), offered("The nurse was tired ___.")
    assert "last week" in past
    assert "last week" not in offered("She loses her keys ___.")
    assert "back then" in state
    assert "yesterday" not in state
    assert "in rural areas" in offered("Women are arrogant ___.")
    assert "in rural areas" not in offered("The nurse is arrogant ___.")
    assert "sooner or later" in offered("She will lose her keys ___.")
    assert "in recent years" in offered("She has lost her keys ___.")


def test_nothing_is_said_twice() -> None:
    assert "last week" not in offered("She lost her keys yesterday ___.")
    assert "in this town" not in offered("Women in Spain are arrogant ___.")
    assert "according to my uncle" not in offered("I lost my keys ___.")


@pytest.mark.parametrize("text", ["What a day ___!", "The dumb blonde ___."])
def test_a_text_without_a_clause_takes_nothing(text: str) -> None:
    assert offered(text) == set()


def test_questions_and_requests_have_their_own() -> None:
    assert "where you live" in offered("Why are women so arrogant ___?")
    assert "next time" in offered("Call the nurse ___.")


def test_every_phrase_is_whole_and_listed_once() -> None:
    for lists in phrases().values():
        for some in lists.values():
            assert len(set(some)) == len(some)
            assert all(p == " ".join(p.split()) and ";" not in p for p in some)
    assert set(phrases()["nouns"]) == set(phrases()["modifier"])
