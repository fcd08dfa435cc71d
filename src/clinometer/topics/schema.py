"""The schema of a topic file. Errors are one line with the position in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Tag,
    ValidationError,
)

from clinometer.errors import TopicError, first_problem


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
    """Return a tag for the form in which a value is written; tags never show in a message."""
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


def _named(value: object) -> object:
    """Return a plain string as the table of a group."""
    return {"name": value} if isinstance(value, str) else value


_Name = Annotated[str, Tag("<name>")]
_Shares = Annotated[dict[str, float], Tag("<table>")]
_Words = Annotated[dict[str, list[str]], Tag("<table>")]
_Group = Annotated[GroupTable, BeforeValidator(_named)]
_Groups = Annotated[list[_Group], Tag("<list>")]
GroupsSource = Annotated[
    _Name | _Groups, _either("expected a list of groups or the name of a built-in list")
]


class GroupsProduct(_TopicTable, extra="allow"):
    """`[groups]` with a pattern; every other key is a list of groups."""

    __pydantic_extra__: dict[str, GroupsSource]
    pattern: str


class ContextsTable(_TopicTable, extra="allow"):
    """`[contexts]`: the wordings of a question, and an ending for those that have none.

    Every other key is a factor, level -> text.
    """

    __pydantic_extra__: dict[str, dict[str, str]]
    wording: list[str]
    ending: str = ""


class MessageTable(_TopicTable):
    """One of `[[messages]]`; the text is kept as written."""

    role: str = "user"
    content: str


_GroupsKey = Annotated[
    _Name | _Groups | Annotated[GroupsProduct, Tag("<product>")],
    _either(
        "expected a list of groups, the name of a built-in list, "
        "or a table with a pattern and its lists"
    ),
]
_AttributesKey = Annotated[
    _Name | _Words,
    _either(
        "expected a table of categories and words, or the name of a built-in topic"
    ),
]
_ReferenceKey = Annotated[
    _Name | _Shares, _either('expected "uniform", "group-mean" or a table of shares')
]
_CasesKey = Annotated[
    _Name | Annotated[list[dict[str, str]], Tag("<list>")],
    _either("expected the name of a .csv or .jsonl file, or [[cases]] of texts"),
]


class TopicFile(_TopicTable):
    """A whole topic file."""

    name: str
    title: str = ""
    language: str = "en"
    source: str = ""
    notes: str = ""
    groups: _GroupsKey
    attributes: _AttributesKey | None = None
    weights: str | None = None
    reference: _ReferenceKey | None = None
    readout: dict[str, Any] | None = None
    contexts: ContextsTable | None = None
    messages: list[MessageTable] = []
    cases: _CasesKey = []
    shared: Literal["split", "drop"] = "split"


_TABLES: dict[str, type[BaseModel]] = {"groups": GroupTable, "messages": MessageTable}


def read_file(content: dict[str, Any]) -> TopicFile:
    """Check parsed TOML against the schema; a one-line TopicError names the first error."""
    try:
        return TopicFile.model_validate(content)
    except ValidationError as exc:
        raise TopicError(first_problem(exc, _allowed_keys)) from exc


def _allowed_keys(place: Sequence[str | int]) -> Mapping[str, object]:
    """Return the keys that may stand at a place of the file."""
    if len(place) == 1:
        return TopicFile.model_fields
    return _TABLES.get(str(place[0]), TopicFile).model_fields
