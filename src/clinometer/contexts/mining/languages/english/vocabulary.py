"""The words of the English miner: its lists, the gendered pronouns, and what a word tells."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial

from clinometer.contexts.mining.languages.lexicon import read_lexicon, word_list

MALE = "male"
FEMALE = "female"

SUBJECT_PRONOUNS = {"he": MALE, "she": FEMALE}
"""Subject pronouns that can stand at [Y], and what they say about gender."""

REFLEXIVES = {"himself": MALE, "herself": FEMALE}
POSSESSIVES = {"his": MALE, "her": FEMALE}
OBJECT_PRONOUNS = {"him": MALE, "hers": FEMALE}
GENDERED_PRONOUNS = {
    **SUBJECT_PRONOUNS,
    **REFLEXIVES,
    **POSSESSIVES,
    **OBJECT_PRONOUNS,
}

listed = partial(word_list, __package__)
"""Return the words of a list in lexicon.toml."""


def mapped(name: str) -> Mapping[str, str]:
    """Return a table of words in lexicon.toml.

    >>> mapped("modal_past")["can"]
    'could'
    """
    table: dict[str, str] = read_lexicon(__package__)[name]
    return table


def gender_of(word: str) -> str | None:
    """Return what a word for a person says about gender: "male", "female", or None.

    >>> gender_of("queen"), gender_of("he"), gender_of("nurse")
    ('female', 'male', None)
    """
    if word in GENDERED_PRONOUNS:
        return GENDERED_PRONOUNS[word]
    if word in listed("male_persons"):
        return MALE
    if word in listed("female_persons"):
        return FEMALE
    return None


def is_person(word: str, persons: Set[str]) -> bool:
    """Return whether a singular noun is one person; `persons` are words besides the lists."""
    lists = ("persons", "male_persons", "female_persons")
    return word in persons or any(word in listed(name) for name in lists)


def gives_gender_away(word: str) -> bool:
    """Return whether a word of a skeleton would reveal the gender of [X].

    >>> gives_gender_away("businessman"), gives_gender_away("human"), gives_gender_away("role")
    (True, False, False)
    """
    if gender_of(word) or word in listed("gender_cues"):
        return True
    has_ending = word.endswith(("man", "men", "woman", "women", "boy", "girl"))
    return has_ending and word not in listed("no_gender_in_ending")


def identity_nouns() -> frozenset[str]:
    """Return the nouns that by themselves name a person of some topic: Muslim, amputee."""
    nouns: set[str] = set()
    for words in read_lexicon(__package__)["identity_nouns"].values():
        nouns.update(noun.replace("_", " ") for noun in words.split())
    return frozenset(nouns)
