"""A topic written as a file reads back as the same topic."""

from __future__ import annotations

import pytest

from clinometer.errors import TopicError
from clinometer.topics import Articles, Group, Topic, builtin_topics, load_topic, parse_topic
from clinometer.topics.write import topic_text


@pytest.mark.parametrize("name", builtin_topics())
def test_built_in_topics_survive(name: str) -> None:
    topic = load_topic(name)
    if topic.readout is not None:
        with pytest.raises(TopicError, match="cannot leave clinometer yet"):
            topic_text(topic)
        return
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert (again.name, again.title, again.source) == (topic.name, topic.title, topic.source)


def test_everything_that_changes_a_prompt_survives() -> None:
    topic = Topic(
        "odd",
        groups=(
            Group('say "hi"', text="back\\slash", weight=0.1),
            Group("Ünal", article=""),
            Group("MP", article="an", weight=2.5),
        ),
        attributes={"a category": ("one", "two\x7f"), "其他": ("三", "one")},
        reference=(0.3, 0.7),
        shared="drop",
        articles=Articles(a=("uni",), an=("hour",)),
        notes="two\nlines",
    )
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert again.notes == topic.notes
