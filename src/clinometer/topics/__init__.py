"""What is asked: groups X, the categories and words of the attribute Y, and the reference p*."""

from clinometer.topics.load import (
    builtin_topics,
    choose_groups,
    load_list,
    load_topic,
    parse_topic,
    topic_text,
)
from clinometer.topics.prompt import Prompt
from clinometer.topics.topic import Group, Topic

__all__ = [
    "Group",
    "Prompt",
    "Topic",
    "builtin_topics",
    "choose_groups",
    "load_list",
    "load_topic",
    "parse_topic",
    "topic_text",
]
