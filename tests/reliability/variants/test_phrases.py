"""Built-in phrases: by where a blank is, agreeing with it, chosen by a real model."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models import open_model
from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.parsing import parse
from clinometer.reliability.variants import accept_version
from clinometer.reliability.variants.phrases import PhraseFiller, candidates, kind_of, phrases


@pytest.fixture(scope="module")
def filler() -> PhraseFiller:
    return PhraseFiller(open_model("pocket:gpt2-l"))


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


def test_phrases_agree_with_article_noun_and_tense() -> None:
    assert {p[0].lower() in "aeiou" for p in offered("He met an ___ officer.")} == {True}
    assert {p[0].lower() in "aeiou" for p in offered("He met a ___ nurse.")} == {False}
    assert "pregnant" in offered("The ___ women left.")
    assert "pregnant" not in offered("The ___ car left.")
    assert "downtown" in offered("They met at the ___ office.")
    assert "last night" in offered("She lost her keys ___.")
    assert "last night" not in offered("She loses her keys ___.")


def test_every_phrase_is_whole_and_listed_once() -> None:
    for lists in phrases().values():
        for some in lists.values():
            assert len(set(some)) == len(some)
            assert all(p == " ".join(p.split()) and ";" not in p for p in some)


def test_versions_are_accepted_distinct_and_the_same_every_time(filler: PhraseFiller) -> None:
    blanks = Blanks.parse("The ___ nurse was working at the ___ hospital ___.")
    found = filler.fill(blanks, n=12, temperature=1.1, seed=3)
    made = [accept_version(blanks, blanks.fill(fills))[0] for fills in found]
    assert len(set(made)) == 12
    assert filler.fill(blanks, n=12, temperature=1.1, seed=3) == found
    assert filler.fill(blanks, n=12, temperature=1.1, seed=4) != found
    places = {fills[2] for fills in found}
    known: Any = phrases()["adjunct"]
    assert places <= {p for some in known.values() for p in some} | {""}


def test_a_phrase_that_suits_is_chosen_before_one_that_does_not(filler: PhraseFiller) -> None:
    blanks = Blanks.parse("The snow is falling ___.")
    doc = next(iter(parse([blanks.plain])))
    pool, weights = filler._pool(blanks, 0, blanks.positions[0], doc, 1.1)
    assert weights.sum() == pytest.approx(1)
    assert {"in the winter", "at night", "in the morning"} & set(pool[:8])
    assert "by law" not in pool[:8]
