"""Built-in phrases: those that suit a blank, of which a real model chooses."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models import open_model
from clinometer.reliability.blanks import parse
from clinometer.reliability.phrases import PhraseFiller, candidates, kind_of, phrases
from clinometer.reliability.statement import Blanks
from clinometer.reliability.variants import accept_version


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


def test_the_position_decides_the_kind() -> None:
    found = kinds("The ___ women at the ___ office are arrogant ___.")
    assert found == ["modifier", "modifier", "adjunct"]
    assert kinds("Women ___ are ___ tired.") == ["after_noun", "adverb"]


def offered(points: str) -> set[str]:
    blanks = Blanks.parse(points)
    doc = next(iter(parse([blanks.plain])))
    (place,) = blanks.positions
    return set(candidates(kind_of(doc, place), doc, place))


def test_modifiers_suit_the_article() -> None:
    assert {p[0] in "aeiou" for p in offered("He met an ___ officer.")} == {True}
    assert {p[0].lower() in "aeiou" for p in offered("He met a ___ nurse.")} == {False}


@pytest.mark.parametrize(
    ("points", "yes", "no"),
    [
        # the noun
        ("The ___ women left.", "middle-aged", None),
        ("The ___ car left.", None, "middle-aged"),
        ("They met at the ___ office.", "nearby", None),
        ("He came from ___ Spain.", "northern", None),
        ("The ___ software developer left.", "young", None),
        # tense, aspect and subject
        ("She lost her keys ___.", "last week", None),
        ("She loses her keys ___.", None, "last week"),
        ("The nurse was tired ___.", "back then", "yesterday"),
        ("Women are arrogant ___.", "in rural areas", None),
        ("The nurse is arrogant ___.", None, "in rural areas"),
        ("She will lose her keys ___.", "sooner or later", None),
        ("She has lost her keys ___.", "in recent years", None),
        # nothing is said twice
        ("She lost her keys yesterday ___.", None, "last week"),
        ("Women in Spain are arrogant ___.", None, "in this town"),
        ("I lost my keys ___.", None, "according to my uncle"),
        # questions and requests have their own
        ("Why are women so arrogant ___?", "where you live", None),
        ("Call the nurse ___.", "next time", None),
    ],
)
def test_phrases_suit_what_stands_beside_them(points: str, yes: str | None, no: str | None) -> None:
    found = offered(points)
    assert yes is None or yes in found
    assert no not in found


@pytest.mark.parametrize(
    "points",
    ["The ___ quark spins.", "The ___ tall man left.", "What a day ___!", "The dumb blonde ___."],
)
def test_what_no_list_suits_takes_nothing(points: str) -> None:
    """A noun that is not known, an adjective, and a text without a clause."""
    assert offered(points) == set()


def test_every_phrase_is_whole_and_listed_once() -> None:
    for lists in phrases().values():
        for some in lists.values():
            assert len(set(some)) == len(some)
            assert all(p == " ".join(p.split()) and ";" not in p for p in some)
    assert set(phrases()["nouns"]) == set(phrases()["modifier"])
