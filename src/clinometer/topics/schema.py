"""The schema of a topic file; errors are one line with the position in the file.

Types and unknown keys are checked here, the values themselves in `validation`, so that a topic made
in Python follows the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Tag, ValidationError
from pydantic_core import ErrorDetails

from clinometer.errors import TopicError, closest


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GroupTable(_Table):
    """One group; a plain string is the name alone."""

    name: str
    text: str = ""
    weight: float | None = None
    article: str | None = None
    factors: dict[str, float] = {}


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
    return Discriminator(_shape, custom_error_type="shape", custom_error_message=expected)


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


GroupEntries = list[Annotated[GroupTable, BeforeValidator(_named)]]
GroupsSource = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[GroupEntries, Tag("<list>")],
    _either("expected a list of groups or the name of a built-in list"),
]


class GroupsProduct(BaseModel):
    """`[groups]` with a pattern; every other key is a list of groups."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, GroupsSource]
    pattern: str


class AttributesProduct(BaseModel):
    """`[attributes]` with a pattern; every other key is a table of categories and words."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, dict[str, list[str]]]
    pattern: str


class ArticlesTable(_Table):
    """Prefixes that take "a" or "an" as exceptions to the rule."""

    a: list[str] = []
    an: list[str] = []


class ContextsTable(BaseModel):
    """`[contexts]`: the wordings of a question, and an ending for those that have none; every
    other key is a factor, level -> text."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, dict[str, str]]
    wording: list[str]
    ending: str = ""
    cross: list[str] = ["wording", "order"]


class TopicFile(_Table):
    """A whole topic file."""

    name: str
    title: str = ""
    language: str = "en"
    source: str = ""
    notes: str = ""
    groups: Annotated[
        Annotated[str, Tag("<name>")]
        | Annotated[GroupEntries, Tag("<list>")]
        | Annotated[GroupsProduct, Tag("<product>")],
        _either(
            "expected a list of groups, the name of a built-in list, "
            "or a table with a pattern and its lists"
        ),
    ]
    attributes: (
        Annotated[
            Annotated[str, Tag("<name>")]
            | Annotated[dict[str, list[str]], Tag("<table>")]
            | Annotated[AttributesProduct, Tag("<product>")],
            _either(
                "expected a table of categories and words, the name of a built-in topic, "
                "or a table with a pattern and its attributes"
            ),
        ]
        | None
    ) = None
    weights: (
        Annotated[
            Annotated[str, Tag("<name>")] | Annotated[list[float], Tag("<list>")],
            _either("expected the name of a factor or a list of numbers"),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            Annotated[str, Tag("<name>")] | Annotated[dict[str, float], Tag("<table>")],
            _either('expected "uniform", "group-mean" or a table of shares'),
        ]
        | None
    ) = None
    readout: dict[str, Any] | None = None
    contexts: ContextsTable | None = None
    articles: ArticlesTable | None = None
    shared: Literal["split", "drop"] = "split"


_TABLES: dict[str, type[BaseModel]] = {"groups": GroupTable, "articles": ArticlesTable}
_EXPECTED = {
    "string_type": "expected a text",
    "float_type": "expected a number",
    "list_type": "expected a list",
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "model_attributes_type": "expected a table",
}


def read_file(content: dict[str, Any]) -> TopicFile:
    """Check parsed TOML against the schema; a one-line TopicError names the first error."""
    try:
        return TopicFile.model_validate(content)
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise TopicError(_line(errors[0]) + more) from exc


def _line(error: ErrorDetails) -> str:
    loc = tuple(part for part in error["loc"] if not str(part).startswith("<"))
    where = _place(loc)
    match error["type"]:
        case "extra_forbidden":
            model = TopicFile if len(loc) == 1 else _TABLES.get(str(loc[0]), TopicFile)
            keys = tuple(model.model_fields)
            near = closest(str(loc[-1]), keys)
            return f"{where}: unknown key; the keys here are {', '.join(keys)}{near}"
        case "missing":
            return f"{where}: missing; add it to the file"
        case "shape":
            return f"{where}: {error['msg']}, found {_found(error['input'])}"
        case kind:
            expected = _EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:])
            return f"{where}: {expected}, found {_found(error['input'])}"


def _place(loc: Sequence[str | int]) -> str:
    """("groups", 3, "weight") -> groups[4].weight: readers count from 1."""
    place = ""
    for part in loc:
        place += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if place else part
    return place


def _found(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
