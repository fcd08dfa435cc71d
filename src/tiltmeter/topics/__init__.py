"""What is asked: groups X, the categories and words of the attribute Y, and the reference p*."""

from tiltmeter.topics.articles import Articles
from tiltmeter.topics.group import Group
from tiltmeter.topics.lists import builtin_lists, load_list
from tiltmeter.topics.load import builtin_topics, load_topic, parse_topic
from tiltmeter.topics.placebo import placebo_groups
from tiltmeter.topics.products import product_attributes, product_groups
from tiltmeter.topics.prompt import Prompt
from tiltmeter.topics.topic import Topic

__all__ = [
    "Articles",
    "Group",
    "Prompt",
    "Topic",
    "builtin_lists",
    "builtin_topics",
    "load_list",
    "load_topic",
    "parse_topic",
    "placebo_groups",
    "product_attributes",
    "product_groups",
]
