"""The built-in phrases as they are read."""

from __future__ import annotations

from itertools import chain

from clinometer.reliability.lexicon import phrases


def test_every_phrase_is_whole_and_every_class_of_nouns_has_modifiers() -> None:
    for lists in phrases().values():
        for phrase in chain.from_iterable(lists.values()):
            assert ";" not in phrase
    assert set(phrases()["nouns"]) == set(phrases()["modifier"])
