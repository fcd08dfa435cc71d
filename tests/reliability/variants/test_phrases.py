"""Built-in phrases: those that suit a blank, of which a real model chooses."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models import open_model
from clinometer.reliability.parsing import parse
from clinometer.reliability.statement import Blanks
from clinometer.reliability.variants import accept_version
from clinometer.reliability.variants.phrases import PhraseFiller, candidates, kind_of, phrases


@pytest.fixture(scope="module")
def filler() -> PhraseFiller:
    return PhraseFiller(open_model("pocket:gpt2-l"))


def test_versions_are_accepted_distinct_and_the_same_every_time(filler: PhraseFiller) -> None:
    blanks = Blanks.parse("The ___ nurse was working at the ___ hospital ___.")
    found = filler.fill(blanks, n=12, temperature=1.1, seed=3)
    made = [accept_version(blanks, blanks.fill(fills)) for fills in found]
    assert len(set(made)) == 12
    assert filler.fill(blanks, n=12, temperature=1.1, seed=3) == found
    assert filler.fill(blanks, n=12, temperature=1.1, seed=4) != found
    places = {fills[2] for fills in found}
    known: Any = phrases()["adjunct"]
    assert places <= {p for some in known.values() for p in some} | {""}


def test_versions_do_not_depend_on_what_was_filled_before(filler: PhraseFiller) -> None:
    """A run that was interrupted begins with another statement."""
    before, blanks = map(
        Blanks.parse, ("The father ___ was never at home ___.", "Boys ___ do not cry ___.")
    )
    alone, after = PhraseFiller(filler.scorer), PhraseFiller(filler.scorer)
    after.fill(before, n=2, temperature=1.1, seed=3)
    a, b = (one.fill(blanks, n=40, temperature=1.1, seed=3) for one in (alone, after))
    assert a == b


def test_a_phrase_that_suits_is_chosen_before_one_that_does_not(filler: PhraseFiller) -> None:
    blanks = Blanks.parse("The snow is falling ___.")
    doc = next(iter(parse([blanks.plain])))
    pool, weights = filler._pool(blanks, 0, blanks.positions[0], doc, 1.1)
    assert weights.sum() == pytest.approx(1)
    assert {"right now", "this morning", "today"} & set(pool[:4])
    assert "according to the author" not in pool[:4]


def test_a_version_says_one_thing_about_a_whole_sentence(filler: PhraseFiller) -> None:
    blanks = Blanks.parse(
        "The ___ nurse met the ___ manager at the ___ office of a ___ lawyer ___. She laughed ___."
    )
    found = filler.fill(blanks, n=20, temperature=1.1, seed=0)
    assert all(sum(map(bool, fills)) <= 3 for fills in found)
    assert not any(fills[4] and fills[5] for fills in found)
    assert any(fills[4] for fills in found)
    assert any(fills[5] for fills in found)


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
