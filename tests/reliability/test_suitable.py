"""Which of the built-in phrases suit a blank."""

from __future__ import annotations

import pytest

from clinometer.reliability.blank_rules import parse
from clinometer.reliability.statement import Blanks
from clinometer.reliability.suitable import candidates, kind_of


def suitable_phrases(points: str) -> set[str]:
    blanks = Blanks.parse(points)
    doc = next(iter(parse([blanks.plain])))
    (position,) = blanks.positions
    return set(candidates(kind_of(doc, position), doc, position))


@pytest.mark.parametrize(
    ("points", "yes", "no"),
    [
        # the position
        ("Women ___ are tired.", "from poor families", "often"),
        ("Women are ___ tired.", "often", "from poor families"),
        # the article and the noun
        ("He met an ___ officer.", "experienced", "young"),
        ("He met a ___ nurse.", "young", "experienced"),
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
def test_phrases_suit_what_stands_beside_them(
    points: str, yes: str | None, no: str | None
) -> None:
    suitable = suitable_phrases(points)
    assert yes is None or yes in suitable
    assert no not in suitable


@pytest.mark.parametrize(
    "points",
    [
        "The ___ quark spins.",
        "The ___ tall man left.",
        "What a day ___!",
        "The dumb blonde ___.",
    ],
)
def test_what_no_list_suits_takes_nothing(points: str) -> None:
    """A noun that is not known, an adjective, and a text without a clause."""
    assert suitable_phrases(points) == set()
