"""Which context sets suit which topics: the topic's words must make sense at [Y].

A set's sidecar says for which topic and in which language it was made. Only combinations that are
certainly meaningless are refused; sets without a sidecar and custom topics are accepted.
"""

from __future__ import annotations

from clinometer.contexts.context_set import ContextSet
from clinometer.topics import Topic

#: Built-in topics whose words are adjectives: they follow "is" ("The nurse is Muslim") and cannot
#: be the subject of a clause ("The nurse said that Muslim").
ADJECTIVES = ("race", "religion", "disability")
#: The topic whose contexts are made for pronouns, mostly subjects of a clause.
_PRONOUNS = "gender"
#: Effective contexts below which a set is too small to measure with: with fewer, the widths of the
#: intervals are noise themselves (docs/inference.md).
FEWEST = 30


def too_small(n_eff: float) -> bool:
    """Whether a set worth n_eff even contexts is too small to measure with.

    >>> too_small(4.3), too_small(149.8)
    (True, False)
    """
    return n_eff < FEWEST


def misfit(contexts: ContextSet, topic: Topic) -> str | None:
    """Why these contexts do not suit this topic; None if they do."""
    about = contexts.metadata
    if about.language and _primary(about.language) != _primary(topic.language):
        its, other = about.language, topic.language
        return f"its sentences are in {its!r}, topic {topic.name!r} is in {other!r}"
    # Predicates ("The [X], who …, is [Y]") take adjectives, for any topic they were mined for.
    pronouns = about.topic is not None and family(about.topic) == _PRONOUNS
    if pronouns and about.strategy != "predicate" and topic.name in ADJECTIVES:
        return (
            f"its sentences were made for topic {about.topic!r} and need a pronoun or noun at [Y], "
            f"topic {topic.name!r} has adjectives"
        )
    return None


def family(topic: str) -> str:
    """The topic that another refines or crosses: that of its words.

    >>> family("gender-population"), family("gender-race"), family("race")
    ('gender', 'gender', 'race')
    """
    return topic.split("-")[0]


def _primary(language: str) -> str:
    return language.lower().split("-")[0]
