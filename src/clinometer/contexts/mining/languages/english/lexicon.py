"""Word lists of the English miner (lexicon.toml), and the words that give gender away."""

from __future__ import annotations

from collections.abc import Mapping, Set

from clinometer.contexts.mining.languages.shared.lexicons import read_lexicon, word_list

MALE, FEMALE = "male", "female"

#: Subject pronouns that can stand at [Y], and what they say about gender.
SUBJECT_PRONOUNS = {"he": MALE, "she": FEMALE}
REFLEXIVES = {"himself": MALE, "herself": FEMALE}
POSSESSIVES = {"his": MALE, "her": FEMALE}
GENDERED_PRONOUNS = {
    **SUBJECT_PRONOUNS,
    **REFLEXIVES,
    **POSSESSIVES,
    "him": MALE,
    "hers": FEMALE,
}


def listed(name: str) -> frozenset[str]:
    """The words of a list.

    >>> "tell" in listed("needs_whom")
    True
    """
    return word_list(__package__, name)


def mapped(name: str) -> Mapping[str, str]:
    """A table of words.

    >>> mapped("modal_past")["can"]
    'could'
    """
    table: dict[str, str] = read_lexicon(__package__)[name]
    return table


def gender_of(word: str) -> str | None:
    """What a word for a person says about gender: "male", "female", or None.

    >>> gender_of("queen"), gender_of("he"), gender_of("nurse")
    ('female', 'male', None)
    """
    if word in GENDERED_PRONOUNS:
        return GENDERED_PRONOUNS[word]
    if word in listed("male_persons"):
        return MALE
    return FEMALE if word in listed("female_persons") else None


def gender_of_name(word: str) -> str | None:
    """What a first name says about gender: "male", "female", or None.

    >>> gender_of_name("philip"), gender_of_name("alice"), gender_of_name("kim")
    ('male', 'female', None)
    """
    if word in listed("male_names"):
        return MALE
    return FEMALE if word in listed("female_names") else None


def is_person(word: str, persons: Set[str]) -> bool:
    """Whether a singular noun is one person."""
    known = ("persons", "male_persons", "female_persons")
    return word in persons or any(word in listed(name) for name in known)


def gives_gender_away(word: str) -> bool:
    """Whether a word of a skeleton would reveal the gender of [X].

    >>> gives_gender_away("businessman"), gives_gender_away("human"), gives_gender_away("role")
    (True, False, False)
    """
    if gender_of(word) or word in listed("gender_cues"):
        return True
    ending = word.endswith(("man", "men", "woman", "women", "boy", "girl"))
    return ending and word not in listed("no_gender_in_ending")
