"""The default context set of a study."""

from __future__ import annotations

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.topics import Topic


def study_contexts(topic: Topic, contexts: str | None) -> ContextSet:
    """The given set; else the paper's set for the topic; else the one mined from Wikipedia."""
    if contexts is not None:
        return load_contexts(contexts, topic=topic)
    known = builtin_contexts()
    if f"paper-{topic.name}" not in known and f"wikipedia-{topic.name}" in known:
        return load_contexts("wikipedia", topic=topic)
    return default_contexts(topic)
