"""A topic written as a file reads back as the same topic."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.readouts.tables import parse_readout
from clinometer.topics import Articles, Group, Topic, builtin_topics, load_topic, parse_topic
from clinometer.topics.load import topic_text


@pytest.mark.parametrize("name", builtin_topics())
def test_built_in_topics_survive(name: str) -> None:
    topic = load_topic(name)
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert (again.name, again.title, again.source) == (topic.name, topic.title, topic.source)
    assert again.readout == topic.readout


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


READOUTS = [
    {"kind": "choice", "labels": "none", "normalise": "per-token", "favourable": "a"},
    {"kind": "text", "by": "judge", "model": "smollm2", "rubric": 'Is "[reply]" a\nor b?'},
    {"kind": "text", "by": "classifier", "model": "m", "names": {"LABEL 0": "a", "x": "b"}},
]


@pytest.mark.parametrize("readout", READOUTS, ids=lambda table: str(table.get("by", "choice")))
def test_a_readout_survives(readout: dict[str, Any]) -> None:
    groups = (Group("Ana"), Group("Ben"))
    attributes = {"a": ("yes",), "b": ("no",)}
    topic = Topic("q", groups, attributes, reference="group-mean", readout=parse_readout(readout))
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert again.readout == topic.readout
