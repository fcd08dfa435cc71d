"""A topic as the text of a topic file, so that it can travel with what was asked about it."""

from __future__ import annotations

import json

from clinometer.errors import TopicError
from clinometer.topics.group import Group
from clinometer.topics.topic import Topic


def topic_text(topic: Topic) -> str:
    """TOML that `parse_topic` reads as a topic with the same sha256.

    Figures about groups (factors) are left out: they change no prompt and no weight. Topics that
    ask questions, or that are measured from the mean of the groups, are refused.

    >>> from clinometer.topics.load import load_topic, parse_topic
    >>> gender = load_topic("gender")
    >>> parse_topic(topic_text(gender)).sha256 == gender.sha256
    True
    """
    if topic.readout is not None or isinstance(topic.reference, str):
        raise TopicError(
            f"topic {topic.name!r}: expected words at the slot of a sentence, and a fixed "
            "reference; questions ([readout]) and group-mean cannot leave clinometer yet"
        )
    lines = [
        f"{key} = {_text(value)}"
        for key, value in {
            "name": topic.name,
            "title": topic.title,
            "language": topic.language,
            "source": topic.source,
            "notes": topic.notes,
            "shared": topic.shared,
        }.items()
    ]
    lines += ["groups = [", *(f"  {_group(group)}," for group in topic.groups), "]", ""]
    lines += ["[attributes]"]
    lines += [f"{_text(name)} = {_list(words)}" for name, words in topic.attributes.items()]
    if topic.reference is not None:
        shares = zip(topic.categories, topic.reference, strict=True)
        lines += ["", "[reference]", *(f"{_text(name)} = {share!r}" for name, share in shares)]
    if topic.articles is not None:
        lines += ["", "[articles]"]
        lines += [f"a = {_list(topic.articles.a)}", f"an = {_list(topic.articles.an)}"]
    return "\n".join(lines) + "\n"


def _group(group: Group) -> str:
    article = "" if group.article is None else f", article = {_text(group.article)}"
    named = f"name = {_text(group.name)}, text = {_text(group.text)}"
    return f"{{{named}, weight = {float(group.weight)!r}{article}}}"


def _list(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """A basic string: TOML escapes as JSON does, and the character DEL as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
