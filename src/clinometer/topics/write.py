"""A topic as the text of a topic file, so that it can travel with what was asked about it."""

from __future__ import annotations

import json

from clinometer.readouts.tables import RatingTable
from clinometer.topics.group import Group
from clinometer.topics.topic import Topic


def topic_text(topic: Topic) -> str:
    """TOML that `parse_topic` reads as a topic with the same sha256.

    Figures about groups (factors) are left out: they change no prompt and no weight. So are the
    questions of a topic, which are contexts.

    >>> from clinometer.topics.load import load_topic, parse_topic
    >>> gender = load_topic("gender")
    >>> parse_topic(topic_text(gender)).sha256 == gender.sha256
    True
    """
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
    if isinstance(topic.reference, str):
        lines += [f"reference = {_text(topic.reference)}"]
    lines += ["groups = [", *(f"  {_group(group)}," for group in topic.groups), "]"]
    if not isinstance(topic.readout, RatingTable):  # the numbers of a rating are its attributes
        lines += ["", "[attributes]"]
        lines += [f"{_text(name)} = {_list(words)}" for name, words in topic.attributes.items()]
    if topic.readout is not None:
        keys = topic.readout.model_dump(exclude_none=True)
        lines += ["", "[readout]", *(f"{_text(key)} = {_value(v)}" for key, v in keys.items())]
    if isinstance(topic.reference, tuple):
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


def _value(value: object) -> str:
    """A value of [readout]: a package's own kind may have any that TOML has."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(k)} = {_value(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _list(texts: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """A basic string: TOML escapes as JSON does, and the character DEL as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
