"""A topic written as the text of a topic file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from clinometer.topics.group import Group
from clinometer.topics.topic import Topic

PLAIN_KEYS = ("name", "title", "language", "source", "notes", "shared")
"""Keys of a topic file that are the topic's own, as they are."""


def topic_text(topic: Topic) -> str:
    """Return TOML that `parse_topic` reads as a topic with the same sha256.

    Figures about groups (factors) are left out: they change no prompt and no weight. So are the
    questions of a topic, which are contexts.

    >>> from clinometer.topics import load_topic, parse_topic
    >>> gender = load_topic("gender")
    >>> parse_topic(topic_text(gender)).sha256 == gender.sha256
    True
    """
    lines = [f"{key} = {toml_value(getattr(topic, key))}" for key in PLAIN_KEYS]
    if isinstance(topic.reference, str):
        lines.append(f"reference = {toml_value(topic.reference)}")
    lines.append("groups = [")
    lines += [f"  {_group_text(group)}," for group in topic.groups]
    lines.append("]")
    lines += toml_tables(_tables(topic))
    return "\n".join(lines) + "\n"


def _tables(topic: Topic) -> dict[str, Mapping[str, object]]:
    tables: dict[str, Mapping[str, object]] = {}
    if not topic.readout.is_scale:  # whose numbers are the attributes
        tables["attributes"] = topic.attributes
    tables |= topic.readout.tables(exclude_none=True)
    if isinstance(topic.reference, tuple):
        tables["reference"] = dict(zip(topic.categories, topic.reference, strict=True))
    return tables


def _group_text(group: Group) -> str:
    parts = [
        f"name = {toml_value(group.name)}",
        f"text = {toml_value(group.text)}",
        f"weight = {float(group.weight)!r}",
    ]
    if group.article is not None:
        parts.append(f"article = {toml_value(group.article)}")
    if group.forms:
        parts.append(f"forms = {toml_value(dict(group.forms))}")
    return f"{{{', '.join(parts)}}}"


def toml_tables(tables: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Yield the lines of tables, each after an empty one."""
    for name, table in tables.items():
        yield ""
        yield f"[{name}]"
        for key, value in table.items():
            yield _pair(key, value)


def toml_value(value: object) -> str:
    """Return a value as TOML writes it; a package's own kind of [readout] may have any."""
    if isinstance(value, str | bool):
        # TOML escapes as JSON does, and the character DEL as well.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        pairs = [_pair(key, entry) for key, entry in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(entry) for entry in value)}]"
    return repr(value)


def _pair(key: object, value: object) -> str:
    return f"{toml_value(key)} = {toml_value(value)}"
