"""Word lists of the French miner (lexicon.toml)."""

from __future__ import annotations

from collections.abc import Mapping

from clinometer.contexts.mining.languages.shared.lexicons import read_lexicon, word_list


def listed(name: str) -> frozenset[str]:
    """The words of a list.

    >>> "déclarer" in listed("reporting")
    True
    """
    return word_list(__package__, name)


def openings() -> Mapping[str, str]:
    """Conjunctions as they stand before a subject -> as they stand before l'[X].

    >>> openings()["lorsqu'"]
    'Lorsque'
    """
    table: dict[str, str] = read_lexicon(__package__)["openings"]
    return table


def is_person(word: str) -> bool:
    """Whether a noun is one person.

    >>> is_person("docteur"), is_person("porte")
    (True, False)
    """
    lists = ("masculine_persons", "feminine_persons", "epicene_persons")
    return any(word in listed(name) for name in lists)
