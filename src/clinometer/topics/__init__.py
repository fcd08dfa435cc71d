"""What is asked: groups X, the categories and words of the attribute Y, and the reference p*."""

from clinometer.topics.group import Group
from clinometer.topics.lists import load_list
from clinometer.topics.load import (
    builtin_topics,
    choose_groups,
    load_topic,
    parse_topic,
)
from clinometer.topics.prompt import Prompt
from clinometer.topics.toml_text import topic_text
from clinometer.topics.topic import Topic

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
