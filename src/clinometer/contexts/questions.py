"""The questions of a topic as a context set: one context for each question that is asked."""

from __future__ import annotations

from clinometer.contexts.context_set import ContextSet
from clinometer.contexts.sidecar import SetMetadata
from clinometer.errors import ContextError
from clinometer.topics import Topic


def question_contexts(topic: Topic) -> ContextSet:
    """Wordings, orders of the options and levels of the factors, each with the same weight.

    The columns say which wording, which order and which level a context has: factors of the
    volatility, and clusters for the intervals.
    """
    if topic.questions is None:
        raise ContextError(f"topic {topic.name!r}: brings no [contexts]; name a context set")
    rows = list(topic.questions.rows(topic.categories))
    columns = list(rows[0][1])
    return ContextSet(
        f"{topic.name}-questions",
        [template for template, _ in rows],
        [1.0] * len(rows),
        {name: [labels[name] for _, labels in rows] for name in columns},
        SetMetadata(source="clinometer", topic=topic.name, language=topic.language),
    )
