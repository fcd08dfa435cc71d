"""Topics by name or by path, and what their files may refer to.

A file may name a built-in list of groups (a CSV file with figures), or cross several lists.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clinometer.errors import TopicError, closest
from clinometer.readouts.tables import ReadoutTable, parse_readout
from clinometer.storage.untrusted import MOST_RECORD, parse_toml, read_text
from clinometer.topics.group import Group
from clinometer.topics.lists import BUILTIN, builtin_lists, load_list, product_groups
from clinometer.topics.own_prompt import OwnPrompt, read_cases
from clinometer.topics.prompt import Y
from clinometer.topics.questions import Questions
from clinometer.topics.schema import (
    ContextsTable,
    GroupsProduct,
    GroupTable,
    TopicFile,
    read_file,
)
from clinometer.topics.toml_text import PLAIN_KEYS
from clinometer.topics.topic import Topic


def builtin_topics() -> tuple[str, ...]:
    """Return the names of the built-in topics.

    >>> "gender" in builtin_topics()
    True
    """
    # occupations.source.toml is about the list of occupations, not a topic.
    names = [path.stem for path in BUILTIN.glob("*.toml")]
    return tuple(sorted(name for name in names if "." not in name))


def load_topic(name_or_path: str | os.PathLike[str] | Mapping[str, Any]) -> Topic:
    """Load a built-in topic by name, or your own by the path of its .toml file.

    It may also be a dict of what such a file has. A name without a folder and without .toml is a
    built-in one; anything else is a path.

    >>> load_topic("gender")
    Topic('gender', 120 groups, 2 categories, 79 words)
    """
    if isinstance(name_or_path, Mapping):
        return _build({"name": "own", **name_or_path}, where="topic", folder=None)
    path = Path(name_or_path)
    label = os.fspath(name_or_path)
    if name_or_path in builtin_topics():
        path = BUILTIN / f"{name_or_path}.toml"
        label = path.name
    elif path.suffix != ".toml" and path.name == name_or_path:
        raise TopicError(
            f"topic {name_or_path!r}: no built-in topic of this name; there are "
            f"{', '.join(builtin_topics())}, and your own by its path, such as ./my.toml"
            f"{closest(name_or_path, builtin_topics())}"
        )
    text = read_text(
        path, shown=label, kind=".toml", error=TopicError, most=MOST_RECORD
    )
    return parse_topic(text, where=label, folder=path.parent)


def parse_topic(
    text: str, *, where: str = "topic", folder: Path | None = None
) -> Topic:
    """Return a topic from the text of a topic file.

    `where` begins every error message, and a table of cases is looked for in `folder`.

    >>> parse_topic('''
    ... name = "tea"
    ... groups = ["nurse", "pilot"]
    ... [attributes]
    ... tea = ["tea"]
    ... coffee = ["coffee", "espresso"]
    ... ''')
    Topic('tea', 2 groups, 2 categories, 3 words)
    """
    try:
        content = parse_toml(text)
    except ValueError as exc:
        raise TopicError(f"{where}: not valid TOML: {exc}") from exc
    return _build(content, where=where, folder=folder)


def choose_groups(topic: Topic, wanted: str) -> Topic:
    """Return a topic with some of its groups, by their names with commas between them.

    Or with those of a built-in list: `people-age` in place of the people by gender and ethnicity.

    >>> choose_groups(load_topic("hiring"), "people-religion").group_names[2]
    'Muslim woman'
    """
    if wanted in builtin_lists():
        return replace(topic, groups=load_list(wanted), left_out=())
    names = [name.strip() for name in wanted.split(",")]
    return topic.select([name for name in names if name])


def _build(content: dict[str, Any], *, where: str, folder: Path | None) -> Topic:
    try:
        file = read_file(content)
        readout = parse_readout(file.readout)
        topic = Topic(
            groups=_groups(file),
            attributes=_attributes(file, readout),
            reference=file.reference,
            readout=readout,
            questions=_questions(file, readout, folder),
            **{key: getattr(file, key) for key in PLAIN_KEYS},
        )
        return topic if file.weights is None else topic.weighted_by(file.weights)
    except TopicError as exc:
        raise TopicError(f"{where}: {exc}") from exc


def _groups(file: TopicFile) -> tuple[Group, ...]:
    if isinstance(file.groups, GroupsProduct):
        sources = file.groups.__pydantic_extra__
        lists = {key: _listed(source) for key, source in sources.items()}
        groups = product_groups(file.groups.pattern, lists)
    else:
        groups = _listed(file.groups)
    if file.weights is not None and _gives_weights(file.groups):
        raise TopicError("weights: the groups have weights too; keep one of the two")
    return groups


def _listed(source: str | list[GroupTable]) -> tuple[Group, ...]:
    """Return the groups of a built-in list, or those written in the file."""
    if isinstance(source, str):
        return load_list(source)
    return tuple(Group(**table.model_dump(exclude_none=True)) for table in source)


def _gives_weights(source: str | list[GroupTable] | GroupsProduct) -> bool:
    if isinstance(source, str):
        return False
    if isinstance(source, GroupsProduct):
        return any(_gives_weights(part) for part in source.__pydantic_extra__.values())
    return any(table.weight is not None for table in source)


def _questions(
    file: TopicFile, readout: ReadoutTable, folder: Path | None
) -> Questions | OwnPrompt | None:
    """Return the questions that the topic itself brings, of which kind they are."""
    if file.messages or file.cases:
        return _own_prompt(file, readout, folder)
    if file.contexts is None:
        return None
    if not readout.asks:
        raise TopicError(
            "contexts: wordings of questions need a [readout]; add it, or give contexts as a file"
        )
    wordings = tuple(_wordings(file.contexts))
    return Questions(wordings, dict(file.contexts.__pydantic_extra__))


def _own_prompt(
    file: TopicFile, readout: ReadoutTable, folder: Path | None
) -> OwnPrompt:
    if file.contexts is not None:
        raise TopicError(
            "contexts: the cases are the contexts of messages; keep one of them"
        )
    if not readout.asks:
        raise TopicError(
            "readout: missing; add [readout], which says how replies are read"
        )
    messages = tuple((message.role, message.content) for message in file.messages)
    if isinstance(file.cases, str):
        return OwnPrompt(messages, read_cases(file.cases, folder))
    return OwnPrompt(messages, tuple(file.cases))


def _wordings(table: ContextsTable) -> list[str]:
    """Return the wordings, with the ending of the table where one has none of its own."""
    wordings = []
    for wording in table.wording:
        has_ending = wording.rstrip().endswith(Y)
        wordings.append(wording if has_ending else f"{wording} {table.ending}")
    return wordings


def _attributes(file: TopicFile, readout: ReadoutTable) -> dict[str, tuple[str, ...]]:
    """Return the words by category: those in the file, of another topic, or numbers of a scale."""
    steps = readout.steps()
    if steps is not None:
        if file.attributes is not None:
            raise TopicError(
                "attributes: the categories of a scale are its numbers; leave it out"
            )
        return steps
    if file.attributes is None:
        raise TopicError("attributes: missing; add it to the file")
    if isinstance(file.attributes, str):
        return _attributes_of_topic(file.attributes, file.name)
    return {category: tuple(words) for category, words in file.attributes.items()}


def _attributes_of_topic(name: str, own_name: str) -> dict[str, tuple[str, ...]]:
    if name not in builtin_topics() or name == own_name:
        raise TopicError(
            "attributes: expected a table of categories and words, or another built-in topic "
            f"({', '.join(builtin_topics())}), found {name!r}"
        )
    return dict(load_topic(name).attributes)
