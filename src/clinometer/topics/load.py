"""Topics by name or by path."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

from clinometer.errors import TopicError, closest
from clinometer.readouts.tables import RatingTable, ReadoutTable, parse_readout
from clinometer.storage.untrusted import MOST_RECORD, parse_toml, read_bytes
from clinometer.topics.articles import Articles
from clinometer.topics.builtin_lists import BUILTIN, load_list
from clinometer.topics.crossing import product_attributes, product_groups
from clinometer.topics.group import Group, clean_weight
from clinometer.topics.prompt import Y
from clinometer.topics.questions import Questions
from clinometer.topics.schema import GroupsProduct, GroupTable, TopicFile, read_file
from clinometer.topics.topic import Topic


def builtin_topics() -> tuple[str, ...]:
    """The names of the built-in topics.

    >>> "gender" in builtin_topics()
    True
    """
    # occupations.source.toml is about the list of occupations, not a topic.
    return tuple(sorted(p.stem for p in BUILTIN.glob("*.toml") if "." not in p.stem))


def load_topic(name_or_path: str | os.PathLike[str]) -> Topic:
    """Load a built-in topic by name, or your own by the path of its .toml file.

    A name without a folder and without .toml is a built-in one; anything else is a path.

    >>> load_topic("gender")
    Topic('gender', 120 groups, 2 categories, 79 words)
    """
    if isinstance(name_or_path, str) and name_or_path in builtin_topics():
        return _load(BUILTIN / f"{name_or_path}.toml", shown=f"{name_or_path}.toml")
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and path.suffix != ".toml" and path.name == name_or_path:
        raise TopicError(
            f"topic {name_or_path!r}: no built-in topic of this name; there are "
            f"{', '.join(builtin_topics())}, and your own by its path, such as ./my.toml"
            f"{closest(name_or_path, builtin_topics())}"
        )
    return _load(path, shown=os.fspath(path))


def parse_topic(text: str, *, where: str = "topic") -> Topic:
    """A topic from the text of a topic file; `where` begins every error message.

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
    try:
        return _build(read_file(content))
    except TopicError as exc:
        raise TopicError(f"{where}: {exc}") from exc


def _load(path: Path, *, shown: str) -> Topic:
    try:
        text = read_bytes(path, most=MOST_RECORD).decode("utf-8-sig")
    except FileNotFoundError as exc:
        raise TopicError(f"{shown}: no such file; check the path") from exc
    except IsADirectoryError as exc:
        raise TopicError(f"{shown}: expected a .toml file, found a folder") from exc
    except OSError as exc:
        raise TopicError(f"{shown}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        raise TopicError(f"{shown}: line {line}: not valid UTF-8; save the file as UTF-8") from exc
    return parse_topic(text, where=shown)


def _build(file: TopicFile) -> Topic:
    readout = None if file.readout is None else parse_readout(file.readout)
    attributes = _attributes(file, readout)
    topic = Topic(
        name=file.name,
        groups=_groups(file),
        attributes=attributes,
        title=file.title,
        language=file.language,
        reference=_reference(file.reference, tuple(attributes)),
        shared=file.shared,
        articles=None
        if file.articles is None
        else Articles(tuple(file.articles.a), tuple(file.articles.an)),
        source=file.source,
        notes=file.notes,
        readout=readout,
        questions=_questions(file, readout),
    )
    return topic.weighted_by(file.weights) if isinstance(file.weights, str) else topic


def _groups(file: TopicFile) -> tuple[Group, ...]:
    if isinstance(file.groups, GroupsProduct):
        lists = {key: _listed(value) for key, value in file.groups.__pydantic_extra__.items()}
        groups = product_groups(file.groups.pattern, lists)
    else:
        groups = _listed(file.groups)
    if file.weights is None or not groups:
        return groups
    if _gives_weights(file.groups):
        raise TopicError("weights: the groups have weights too; keep one of the two")
    if isinstance(file.weights, str):
        return groups
    if len(file.weights) != len(groups):
        raise TopicError(
            f"weights: expected {len(groups)} numbers, one for each group, "
            f"found {len(file.weights)}"
        )
    return tuple(
        replace(group, weight=clean_weight(weight, where=f"weights[{i}]"))
        for i, (group, weight) in enumerate(zip(groups, file.weights, strict=True), start=1)
    )


def _listed(source: str | list[GroupTable]) -> tuple[Group, ...]:
    if isinstance(source, str):
        return load_list(source)
    return tuple(
        Group(
            name=table.name,
            text=table.text,
            weight=1.0 if table.weight is None else table.weight,
            article=table.article,
            factors=dict(table.factors),
        )
        for table in source
    )


def _gives_weights(source: str | list[GroupTable] | GroupsProduct) -> bool:
    if isinstance(source, GroupsProduct):
        return any(_gives_weights(value) for value in source.__pydantic_extra__.values())
    return not isinstance(source, str) and any(table.weight is not None for table in source)


def _questions(file: TopicFile, readout: ReadoutTable | None) -> Questions | None:
    table = file.contexts
    if table is None:
        return None
    if readout is None:
        raise TopicError(
            "contexts: wordings of questions need a [readout]; add it, or give contexts as a file"
        )
    factors = dict(table.__pydantic_extra__)
    wordings = [w if w.rstrip().endswith(Y) else f"{w} {table.ending}" for w in table.wording]
    return Questions(tuple(wordings), factors, tuple(table.cross))


def _attributes(file: TopicFile, readout: ReadoutTable | None) -> dict[str, tuple[str, ...]]:
    if isinstance(readout, RatingTable):
        if file.attributes is not None:
            raise TopicError("attributes: the categories of a rating are its numbers; leave it out")
        return readout.steps()
    if file.attributes is None:
        raise TopicError("attributes: missing; add it to the file")
    if isinstance(file.attributes, str):
        if file.attributes not in builtin_topics() or file.attributes == file.name:
            raise TopicError(
                "attributes: expected a table of categories and words, or another built-in topic "
                f"({', '.join(builtin_topics())}), found {file.attributes!r}"
            )
        return dict(load_topic(file.attributes).attributes)
    if isinstance(file.attributes, dict):
        return {category: tuple(words) for category, words in file.attributes.items()}
    return product_attributes(file.attributes.pattern, file.attributes.__pydantic_extra__)


def _reference(
    reference: str | dict[str, float] | None, categories: tuple[str, ...]
) -> tuple[float, ...] | Literal["group-mean"] | None:
    if reference is None or reference == "uniform":
        return None
    if reference == "group-mean":
        return "group-mean"
    if isinstance(reference, str):
        raise TopicError(
            'reference: expected "uniform", "group-mean" or a table of shares, found '
            f"{reference!r}{closest(reference, ('uniform', 'group-mean'))}"
        )
    missing = [category for category in categories if category not in reference]
    unknown = [key for key in reference if key not in categories]
    if missing or unknown:
        wrong = f"missing: {', '.join(missing)}" if missing else f"unknown: {', '.join(unknown)}"
        raise TopicError(
            f"reference: expected one number for each category ({', '.join(categories)}); {wrong}"
        )
    return tuple(reference[category] for category in categories)
