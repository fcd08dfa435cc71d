"""The context set of a study when none is named."""

from __future__ import annotations

from tiltmeter.contexts import ContextSet, builtin_contexts, load_contexts
from tiltmeter.errors import ContextError
from tiltmeter.topics import Topic

#: Topics whose words are adjectives or nouns after "is" can stand in the contexts of race.
_LIKE_RACE = ("religion", "disability")


def study_contexts(topic: Topic, contexts: str | None) -> ContextSet:
    """The named set; else the topic's set of the paper; else the one mined from Wikipedia; else,
    for topics whose words fit, that of race."""
    if contexts is not None:
        return load_contexts(contexts, topic=topic)
    known = builtin_contexts()
    like_race = "paper-race" if topic.name in _LIKE_RACE else ""
    for name in (f"paper-{topic.name}", f"wikipedia-{topic.name}", like_race):
        if name in known:
            return load_contexts(name)
    raise ContextError(
        f"contexts: topic {topic.name!r} has no default set; say one of {', '.join(known)}, or a "
        "csv file"
    )
