"""Every exception the package raises on purpose, as one tree.

ClinometerError
├── InputError            what was given is wrong              exit status 2
│   ├── TopicError        a topic file or name
│   ├── ContextError      a context set or template
│   ├── TableError        a table of preferences or factors
│   ├── SettingsError     an option, argument or weight
│   ├── RunError          a run folder
│   └── MissingExtra      an optional dependency is not installed
└── ModelError            a model or server failed             exit status 3
    ├── ModelNotFound     no such model here                   exit status 2
    └── Unmeasurable      it gave no answer to measure

A message is one line: the thing, what was expected, what was found, the next step.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "literal_error": "{expected}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}
"""pydantic's kinds of errors, in the words of a message."""

_LONGEST_VALUE = 60
"""The most characters that are shown of a wrong value."""


class ClinometerError(Exception):
    """Base of all errors that clinometer raises on purpose."""

    exit_status = 2
    """What the command line returns for it."""


class InputError(ClinometerError, ValueError):
    """What the caller gave is wrong."""


class TopicError(InputError):
    """A topic file or topic name is wrong."""


class ContextError(InputError):
    """A context set or a template is wrong."""


class TableError(InputError):
    """A table (preferences, factors) is wrong."""


class SettingsError(InputError):
    """An option, argument or weight is wrong."""


class RunError(InputError):
    """A run folder is missing, damaged, or does not match the command."""


class MissingExtra(InputError, ImportError):
    """An optional dependency is not installed; `clinometer.extras` knows the command for it."""


class ModelError(ClinometerError, RuntimeError):
    """A model or server failed while scoring."""

    exit_status = 3


class ModelNotFound(ModelError):
    """There is no such model here."""

    exit_status = 2


class Unmeasurable(ModelError):
    """Almost no answer of a model fits a category: reporting no number is safer."""

    def __init__(self, message: str, *, other: float = 1.0) -> None:
        super().__init__(message)
        self.other = other
        """The share of its replies, or of its probability, that fits none."""


def closest(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: "; did you mean …?", or nothing.

    >>> closest("max_context", ["max_contexts", "seed"])
    '; did you mean max_contexts?'
    """
    similar = difflib.get_close_matches(str(name), list(known), n=3)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def first_problem(
    error: ValidationError,
    keys: Callable[[Sequence[str | int]], Iterable[str]] = lambda place: (),
) -> str:
    """Return what a schema refused, in one line: the place, what was expected, what was found.

    `keys` lists the keys that are known next to an unknown one, given its place.

    >>> from pydantic import TypeAdapter, ValidationError
    >>> try:
    ...     TypeAdapter(dict[str, list[int]]).validate_json('{"a": [5, "x", "y"]}', strict=True)
    ... except ValidationError as error:
    ...     first_problem(error)
    "a[2]: expected a whole number, found 'x' (and 1 more)"
    """
    errors = error.errors(include_url=False)
    # pydantic names the members of a union too, as in <list>; no file contains these.
    place = [part for part in errors[0]["loc"] if not str(part).startswith("<")]
    match errors[0]["type"]:
        case "missing":
            problem = "missing; add it to the file"
        case "extra_forbidden":
            names = list(keys(place))
            listed = f"; the keys here are {', '.join(names)}" if names else ""
            problem = f"unknown key{listed}{closest(place[-1], names)}"
        case "value_error":
            problem = str(errors[0]["ctx"]["error"])
        case "json_invalid":
            problem = errors[0]["msg"]
        case _:
            problem = _unexpected(errors[0])
    if len(errors) > 1:
        problem += f" (and {len(errors) - 1} more)"
    path = _path(place)
    return f"{path}: {problem}" if path else problem


def _unexpected(error: ErrorDetails) -> str:
    """Return what was expected of a value, and what it is."""
    expected = error["msg"][:1].lower() + error["msg"][1:]
    if error["type"] in _EXPECTED:
        description = _EXPECTED[error["type"]].format(**error.get("ctx", {}))
        expected = f"expected {description}"
    expected = expected.replace("input should be", "expected")
    value = repr(error["input"])
    if len(value) > _LONGEST_VALUE:
        value = f"{value[: _LONGEST_VALUE - 1]}…"
    return f"{expected}, found {value}"


def _path(place: Sequence[str | int]) -> str:
    """Return a place in a file as a path, in which items count from 1: a.b[2]."""
    path = ""
    for part in place:
        path += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")
