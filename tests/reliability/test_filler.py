"""Built-in phrases, of which a real model chooses."""

from __future__ import annotations

from itertools import chain

import pytest

from clinometer.models import open_model
from clinometer.reliability.blank_rules import parse
from clinometer.reliability.filler import PhraseFiller
from clinometer.reliability.lexicon import phrases
from clinometer.reliability.statement import Blanks


@pytest.fixture(scope="module")
def chooser() -> PhraseFiller:
    return PhraseFiller(open_model("pocket:gpt2-l"))


def test_versions_do_not_depend_on_what_was_filled_before(
    chooser: PhraseFiller,
) -> None:
    """A run that was interrupted begins with another statement."""
    first = Blanks.parse("The father ___ was never at home ___.")
    second = Blanks.parse("Boys ___ do not cry ___.")
    new_filler = PhraseFiller(chooser.scorer)
    used_filler = PhraseFiller(chooser.scorer)
    used_filler.fill(first, n=2, temperature=1.1, seed=3)
    versions = new_filler.fill(second, n=40, temperature=1.1, seed=3)
    assert used_filler.fill(second, n=40, temperature=1.1, seed=3) == versions
    adjuncts = set(chain.from_iterable(phrases()["adjunct"].values()))
    assert {fills[1] for fills in versions} <= adjuncts | {""}


def test_a_phrase_that_suits_is_chosen_before_one_that_does_not(
    chooser: PhraseFiller,
) -> None:
    blanks = Blanks.parse("The snow is falling ___.")
    doc = next(iter(parse([blanks.plain])))
    pool = chooser.pool(blanks, 0, doc, 1.1)
    assert pool.weights.sum() == pytest.approx(1)
    assert {"right now", "this morning", "today"} & set(pool.phrases[:4])
    assert "according to the author" not in pool.phrases[:4]


def test_a_version_says_one_thing_about_a_whole_sentence(chooser: PhraseFiller) -> None:
    blanks = Blanks.parse(
        "The ___ nurse met the ___ manager at the ___ office of a ___ lawyer ___. She laughed ___."
    )
    found = chooser.fill(blanks, n=20, temperature=1.1, seed=0)
    assert all(sum(map(bool, fills)) <= 3 for fills in found)
    assert not any(fills[4] and fills[5] for fills in found)
    assert any(fills[4] for fills in found)
    assert any(fills[5] for fills in found)
