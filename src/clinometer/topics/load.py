"""Topic files: their schema, what they may refer to, and topics by name or by path.

A file may name a built-in list of groups (a CSV file with figures), or cross several lists. Errors
are one line with the position in the file.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Tag,
    ValidationError,
)

from clinometer.errors import TopicError, closest, first_problem
from clinometer.readouts.tables import (
    ReadoutTable,
    parse_readout,
)
from clinometer.storage.untrusted import MOST_RECORD, parse_toml, read_text
from clinometer.topics.conversation import OwnPrompt, read_cases
from clinometer.topics.prompt import Y
from clinometer.topics.questions import MOST_PRODUCT, Questions
from clinometer.topics.topic import Group, Topic

BUILTIN = Path(__file__).parent / "builtin"
# Columns with what the figures or the name rest on, with what a group is composed of, and with how
# it is written; all others are figures.
_ABOUT = (
    *("source_years", "soc_codes", "match", "given_name_rank"),
    *(
        "given_name_births",
        "given_name_percent",
        "surname_percent",
        "surname_percent_2020",
    ),
)
_PARTS = (
    *(
        "gender",
        "ethnicity",
        "age",
        "disability",
        "religion",
        "nationality",
        "orientation",
    ),
    "shown_as",
)
_WRITTEN = ("text", "article")
#: Keys of a topic file that are the topic's own, as they are.
_PLAIN = ("name", "title", "language", "source", "notes", "shared")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def builtin_topics() -> tuple[str, ...]:
    """The names of the built-in topics.

    >>> "gender" in builtin_topics()
    True
    """
    # occupations.source.toml is about the list of occupations, not a topic.
    return tuple(sorted(p.stem for p in BUILTIN.glob("*.toml") if "." not in p.stem))


def load_topic(name_or_path: str | os.PathLike[str] | Mapping[str, Any]) -> Topic:
    """Load a built-in topic by name, or your own by the path of its .toml file, or as a dict of
    what such a file has.

    A name without a folder and without .toml is a built-in one; anything else is a path.

    >>> load_topic("gender")
    Topic('gender', 120 groups, 2 categories, 79 words)
    """
    if isinstance(name_or_path, Mapping):
        return _build({"name": "own", **name_or_path}, where="topic", folder=None)
    path, shown = Path(name_or_path), os.fspath(name_or_path)
    if name_or_path in builtin_topics():
        path, shown = BUILTIN / f"{name_or_path}.toml", f"{name_or_path}.toml"
    elif path.suffix != ".toml" and path.name == name_or_path:
        raise TopicError(
            f"topic {name_or_path!r}: no built-in topic of this name; there are "
            f"{', '.join(builtin_topics())}, and your own by its path, such as ./my.toml"
            f"{closest(name_or_path, builtin_topics())}"
        )
    text = read_text(
        path, shown=shown, kind=".toml", error=TopicError, most=MOST_RECORD
    )
    return parse_topic(text, where=shown, folder=path.parent)


def parse_topic(
    text: str, *, where: str = "topic", folder: Path | None = None
) -> Topic:
    """A topic from the text of a topic file; `where` begins every error message, and a table of
    cases is looked for in `folder`.

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


def topic_text(topic: Topic) -> str:
    """TOML that `parse_topic` reads as a topic with the same sha256.

    Figures about groups (factors) are left out: they change no prompt and no weight. So are the
    questions of a topic, which are contexts.

    >>> gender = load_topic("gender")
    >>> parse_topic(topic_text(gender)).sha256 == gender.sha256
    True
    """
    keys = [*_PLAIN, *(["reference"] if isinstance(topic.reference, str) else [])]
    lines = [f"{key} = {toml_value(getattr(topic, key))}" for key in keys]
    lines += [
        "groups = [",
        *(f"  {_group_text(group)}," for group in topic.groups),
        "]",
    ]
    tables: dict[str, Mapping[str, object]] = {}
    readout = topic.readout
    if readout is None or not readout.is_scale:  # whose numbers are the attributes
        tables["attributes"] = topic.attributes
    if readout is not None:
        tables["readout"] = readout.model_dump(exclude_none=True)
    if isinstance(topic.reference, tuple):
        tables["reference"] = dict(zip(topic.categories, topic.reference, strict=True))
    return "\n".join([*lines, *toml_tables(tables)]) + "\n"


def builtin_lists() -> tuple[str, ...]:
    """The names of the built-in lists of groups.

    >>> builtin_lists()[:3]
    ('occupations', 'people', 'people-age')
    """
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.csv")))


def load_list(name: str) -> tuple[Group, ...]:
    """The groups of a built-in list with their figures; None where a figure is missing.

    >>> nurse = next(group for group in load_list("occupations") if group.name == "nurse")
    >>> nurse.factors["employment_thousands"]
    3172.5
    """
    if name not in builtin_lists():
        names = ", ".join(builtin_lists())
        raise TopicError(
            f"groups: expected a list of groups or the name of a built-in list ({names}), "
            f"found {name!r}"
        )
    with (BUILTIN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first, *columns = rows[0]
    figures = [
        column for column in columns if column not in (*_ABOUT, *_PARTS, *_WRITTEN)
    ]
    return tuple(
        Group(
            row[first],
            text=row.get("text") or "",
            article=row.get("article"),
            factors={
                column: float(row[column]) if row[column] else None
                for column in figures
            },
            about={column: row[column] for column in _ABOUT if row.get(column)},
            parts={column: row[column] for column in _PARTS if row.get(column)},
        )
        for row in rows
    )


def choose_groups(topic: Topic, wanted: str) -> Topic:
    """A topic with some of its groups, by their names with commas between them, or with those of a
    built-in list: `people-age` in place of the people by gender and ethnicity.

    >>> choose_groups(load_topic("hiring"), "people-religion").group_names[2]
    'Muslim woman'
    """
    if wanted in builtin_lists():
        return replace(topic, groups=load_list(wanted), left_out=())
    return topic.select([name.strip() for name in wanted.split(",") if name.strip()])


def product_groups(
    pattern: str, factors: Mapping[str, Sequence[Group | str]]
) -> tuple[Group, ...]:
    """Every combination of the groups of several lists, written by `pattern`.

    Name and text follow the pattern, weights multiply, `parts` remembers what each list gave, and
    the figures (`factors`) are those of the group from the list that comes last in the pattern:
    the figures of nurses, for the "black nurse". The first list varies slowest. An `article`
    that a group sets is kept where the pattern begins with that group.

    >>> [g.name for g in product_groups("{race} {job}", {"race": ["black", "white"],
    ...                                                  "job": ["nurse", "cook"]})]
    ['black nurse', 'black cook', 'white nurse', 'white cook']
    """
    order = _placeholders(pattern, list(factors))
    for key in order:
        if isinstance(factors[key], str):
            raise TopicError(
                f"groups.{key}: expected a list, found the text {factors[key]!r}"
            )
        if not factors[key]:
            raise TopicError(f"groups.{key}: expected at least one entry, found none")
    lists = [factors[key] for key in order]
    if (n := math.prod(map(len, lists))) > MOST_PRODUCT:
        raise TopicError(
            f"groups: expected at most {MOST_PRODUCT:,} combinations of its lists, found {n:,}; "
            "shorten them"
        )
    begins = pattern.lstrip().startswith("{")
    groups = []
    for entries in itertools.product(*lists):
        chosen = [
            entry if isinstance(entry, Group) else Group(entry) for entry in entries
        ]
        names = dict(zip(order, (group.name for group in chosen), strict=True))
        texts = dict(zip(order, (group.text for group in chosen), strict=True))
        first, last = chosen[0], chosen[-1]
        groups.append(
            replace(
                last,
                name=_fill(pattern, names),
                text=_fill(pattern, texts),
                weight=math.prod(group.weight for group in chosen),
                article=first.article if begins else None,
                parts=names,
            )
        )
    return tuple(groups)


def _placeholders(pattern: str, keys: Sequence[str]) -> list[str]:
    """The names in the pattern, in order; they must be the keys, each once."""
    names = _PLACEHOLDER.findall(pattern)
    if sorted(names) != sorted(keys):
        expected = ", ".join(f"{{{key}}}" for key in keys) or "the name of a list"
        raise TopicError(
            f"groups.pattern: expected {expected}, each once, found {pattern!r}; "
            "every list stands in the pattern once, and nothing else in braces"
        )
    if len(names) < 2:
        raise TopicError(
            f"groups.pattern: expected two lists or more, found {len(names)}"
        )
    if re.search(r"[{}]", _PLACEHOLDER.sub("", pattern)):
        raise TopicError(
            f"groups.pattern: expected braces around names only, found {pattern!r}"
        )
    return names


def _fill(pattern: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], pattern)


class _TopicTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GroupTable(_TopicTable):
    """One group; a plain string is the name alone."""

    name: str
    text: str = ""
    weight: float | None = None
    article: str | None = None
    factors: dict[str, float] = {}
    forms: dict[str, str] = {}


def _shape(value: object) -> str | None:
    """Tag the form in which a value is written; the tags never show in a message."""
    if isinstance(value, str):
        return "<name>"
    if isinstance(value, list):
        return "<list>"
    if isinstance(value, dict):
        return "<product>" if isinstance(value.get("pattern"), str) else "<table>"
    return None


def _either(expected: str) -> Discriminator:
    return Discriminator(
        _shape, custom_error_type="shape", custom_error_message=expected
    )


_Name = Annotated[str, Tag("<name>")]
_Shares = Annotated[dict[str, float], Tag("<table>")]
_Words = Annotated[dict[str, list[str]], Tag("<table>")]
_Named = BeforeValidator(
    lambda value: {"name": value} if isinstance(value, str) else value
)
_Groups = Annotated[list[Annotated[GroupTable, _Named]], Tag("<list>")]
GroupsSource = Annotated[
    _Name | _Groups, _either("expected a list of groups or the name of a built-in list")
]


class GroupsProduct(_TopicTable, extra="allow"):
    """`[groups]` with a pattern; every other key is a list of groups."""

    __pydantic_extra__: dict[str, GroupsSource]
    pattern: str


class ContextsTable(_TopicTable, extra="allow"):
    """`[contexts]`: the wordings of a question, and an ending for those that have none; every
    other key is a factor, level -> text."""

    __pydantic_extra__: dict[str, dict[str, str]]
    wording: list[str]
    ending: str = ""


class MessageTable(_TopicTable):
    """One of `[[messages]]`; the text is kept as written."""

    role: str = "user"
    content: str


class TopicFile(_TopicTable):
    """A whole topic file."""

    name: str
    title: str = ""
    language: str = "en"
    source: str = ""
    notes: str = ""
    groups: Annotated[
        _Name | _Groups | Annotated[GroupsProduct, Tag("<product>")],
        _either(
            "expected a list of groups, the name of a built-in list, "
            "or a table with a pattern and its lists"
        ),
    ]
    attributes: (
        Annotated[
            _Name | _Words,
            _either(
                "expected a table of categories and words, or the name of a built-in topic"
            ),
        ]
        | None
    ) = None
    weights: str | None = None
    reference: (
        Annotated[
            _Name | _Shares,
            _either('expected "uniform", "group-mean" or a table of shares'),
        ]
        | None
    ) = None
    readout: dict[str, Any] | None = None
    contexts: ContextsTable | None = None
    messages: list[MessageTable] = []
    cases: Annotated[
        _Name | Annotated[list[dict[str, str]], Tag("<list>")],
        _either("expected the name of a .csv or .jsonl file, or [[cases]] of texts"),
    ] = []
    shared: Literal["split", "drop"] = "split"


_TABLES: dict[str, type[BaseModel]] = {"groups": GroupTable, "messages": MessageTable}


def read_file(content: dict[str, Any]) -> TopicFile:
    """Check parsed TOML against the schema; a one-line TopicError names the first error."""
    try:
        return TopicFile.model_validate(content)
    except ValidationError as exc:
        raise TopicError(first_problem(exc, _known_keys)) from exc


def _known_keys(place: Sequence[str | int]) -> Mapping[str, object]:
    model = TopicFile if len(place) == 1 else _TABLES.get(str(place[0]), TopicFile)
    return model.model_fields


def _build(content: dict[str, Any], *, where: str, folder: Path | None) -> Topic:
    try:
        file = read_file(content)
        readout = None if file.readout is None else parse_readout(file.readout)
        topic = Topic(
            groups=_groups(file),
            attributes=_attributes(file, readout),
            reference=file.reference,
            readout=readout,
            questions=_questions(file, readout, folder),
            **{key: getattr(file, key) for key in _PLAIN},
        )
        return topic if file.weights is None else topic.weighted_by(file.weights)
    except TopicError as exc:
        raise TopicError(f"{where}: {exc}") from exc


def _groups(file: TopicFile) -> tuple[Group, ...]:
    if isinstance(file.groups, GroupsProduct):
        lists = {
            key: _listed(value) for key, value in file.groups.__pydantic_extra__.items()
        }
        groups = product_groups(file.groups.pattern, lists)
    else:
        groups = _listed(file.groups)
    if file.weights is not None and _gives_weights(file.groups):
        raise TopicError("weights: the groups have weights too; keep one of the two")
    return groups


def _listed(source: str | list[GroupTable]) -> tuple[Group, ...]:
    if isinstance(source, str):
        return load_list(source)
    return tuple(Group(**table.model_dump(exclude_none=True)) for table in source)


def _gives_weights(source: str | list[GroupTable] | GroupsProduct) -> bool:
    if isinstance(source, GroupsProduct):
        return any(
            _gives_weights(value) for value in source.__pydantic_extra__.values()
        )
    return not isinstance(source, str) and any(
        table.weight is not None for table in source
    )


def _questions(
    file: TopicFile, readout: ReadoutTable | None, folder: Path | None
) -> Questions | OwnPrompt | None:
    table = file.contexts
    if file.messages or file.cases:
        if table is not None:
            raise TopicError(
                "contexts: the cases are the contexts of messages; keep one of them"
            )
        if readout is None:
            raise TopicError(
                "readout: missing; add [readout], which says how replies are read"
            )
        messages = tuple((message.role, message.content) for message in file.messages)
        cases = file.cases
        return OwnPrompt(
            messages,
            read_cases(cases, folder) if isinstance(cases, str) else tuple(cases),
        )
    if table is None:
        return None
    if readout is None:
        raise TopicError(
            "contexts: wordings of questions need a [readout]; add it, or give contexts as a file"
        )
    factors = dict(table.__pydantic_extra__)
    wordings = [
        w if w.rstrip().endswith(Y) else f"{w} {table.ending}" for w in table.wording
    ]
    return Questions(tuple(wordings), factors)


def _attributes(
    file: TopicFile, readout: ReadoutTable | None
) -> dict[str, tuple[str, ...]]:
    steps = None if readout is None else readout.steps()
    if steps is not None:
        if file.attributes is not None:
            raise TopicError(
                "attributes: the categories of a scale are its numbers; leave it out"
            )
        return steps
    if file.attributes is None:
        raise TopicError("attributes: missing; add it to the file")
    if isinstance(file.attributes, str):
        if file.attributes not in builtin_topics() or file.attributes == file.name:
            raise TopicError(
                "attributes: expected a table of categories and words, or another built-in topic "
                f"({', '.join(builtin_topics())}), found {file.attributes!r}"
            )
        return dict(load_topic(file.attributes).attributes)
    return {category: tuple(words) for category, words in file.attributes.items()}


def _group_text(group: Group) -> str:
    article = (
        "" if group.article is None else f", article = {toml_value(group.article)}"
    )
    named = f"name = {toml_value(group.name)}, text = {toml_value(group.text)}"
    forms = f", forms = {toml_value(dict(group.forms))}" if group.forms else ""
    return f"{{{named}, weight = {float(group.weight)!r}{article}{forms}}}"


def toml_tables(tables: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """The lines of tables, each after an empty one."""
    for name, table in tables.items():
        yield from ("", f"[{name}]")
        yield from (f"{toml_value(k)} = {toml_value(v)}" for k, v in table.items())


def toml_value(value: object) -> str:
    """A value as TOML writes it; a package's own kind of [readout] may have any."""
    if isinstance(
        value, str | bool
    ):  # TOML escapes as JSON does, and the character DEL as well
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return f"{{{', '.join(f'{toml_value(k)} = {toml_value(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)
