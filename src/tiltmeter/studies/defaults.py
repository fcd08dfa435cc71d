"""The context set of a study when none is named."""

from __future__ import annotations

from tiltmeter.contexts import ContextSet, builtin_contexts, load_contexts
from tiltmeter.errors import ContextError
from tiltmeter.topics import Topic

#: Topics whose words are adjectives or nouns after "is" can stand in the contexts of race.
_LIKE_RACE = ("religion", "disability")


def study_contexts(topic: Topic, contexts: str | None) -> ContextSet:
    """The named set; else the topic's set of the paper; else, for topics that fit, race's."""
    if contexts is not None:
        return load_contexts(contexts)
    known = builtin_contexts()
    for name in (f"paper-{topic.name}", "paper-race" if topic.name in _LIKE_RACE else ""):
        if name in known:
            return load_contexts(name)
    raise ContextError(
        f"contexts: topic {topic.name!r} has no default set; say one of {', '.join(known)}, or a "
        "csv file"
    )
