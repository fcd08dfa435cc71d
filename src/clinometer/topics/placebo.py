"""Placebo groups: X that carry no information about the attribute, scored like any other group."""

from __future__ import annotations

from clinometer.errors import TopicError
from clinometer.topics.group import Group

#: Words that only say "a person". The first is the neutral group whose preference is the model's
#: own prior.
NEUTRAL = ("person", "individual", "human being")
PRONOUN = "someone"
#: Eight frequent given names of each sex in US births of the last hundred years (Social Security
#: Administration). Balanced between the sexes; nothing else is claimed about them.
NAMES = {
    "male": ("James", "Michael", "Robert", "John", "David", "William", "Richard", "Joseph"),
    "female": ("Mary", "Patricia", "Jennifer", "Linda", "Elizabeth", "Barbara", "Susan", "Jessica"),
}


def placebo_groups(language: str) -> tuple[Group, ...]:
    """Neutral words, a pronoun and first names, in English.

    >>> [group.name for group in placebo_groups("en")][:5]
    ['person', 'individual', 'human being', 'someone', 'James']
    """
    if language.lower().split("-")[0] != "en":
        raise TopicError(f"placebo groups: expected an English topic, found language {language!r}")
    bare = (PRONOUN, *(name for names in NAMES.values() for name in names))
    return (*(Group(word) for word in NEUTRAL), *(Group(word, article="") for word in bare))
