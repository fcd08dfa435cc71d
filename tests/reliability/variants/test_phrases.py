"""Built-in phrases: by where a blank is, agreeing with it, chosen by a real model."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models import open_model
from clinometer.reliability.parsing import parse
from clinometer.reliability.statement import Blanks
from clinometer.reliability.variants import accept_version
from clinometer.reliability.variants.phrases import PhraseFiller, phrases


@pytest.fixture(scope="module")
def filler() -> PhraseFiller:
    return PhraseFiller(open_model("pocket:gpt2-l"))


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
