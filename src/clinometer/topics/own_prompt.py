"""A prompt that a topic brings: messages, and the cases whose fields stand in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clinometer.errors import TableError, TopicError, closest
from clinometer.storage.rows import Row, read_rows
from clinometer.topics.conversation import (
    CASE,
    END,
    REPLY,
    ROLES,
    Parts,
    conversation_problem,
    joined,
)
from clinometer.topics.prompt import Y

MOST_CASES = 100_000
"""Cases in a file."""

_LONGEST_LABEL = 60
"""A label of a case longer than this is a text, and no factor."""

_NAMES_OF_CASE = (CASE, "id")
"""Fields that name a case."""

_FIELD = re.compile(r"\{(\{\w+\})\}|\{(\w+)\}")


@dataclass(frozen=True)
class OwnPrompt:
    """Messages, and the cases whose fields stand in them."""

    messages: Parts = ()
    """(role, text), the last by the user; none: an application is sent the record itself."""

    cases: tuple[Mapping[str, str], ...] = ()
    """Field -> text, the same fields in each; they are the contexts."""

    def __post_init__(self) -> None:
        for i, (role, text) in enumerate(self.messages, start=1):
            self._check_message(role, text, place=f"messages[{i}]")
        if self.messages and self.messages[-1][0] != "user":
            raise TopicError(
                f"messages: expected the last one by the user, found {self.messages[-1][0]!r}; the "
                "reply follows it"
            )
        if not self.messages and not self.cases:
            raise TopicError(
                "messages: expected [[messages]], [[cases]] or both, found neither"
            )
        for i, case in enumerate(self.cases, start=1):
            if tuple(case) != self.fields:
                raise TopicError(
                    f"cases[{i}]: expected the fields {', '.join(self.fields)} as in the first, "
                    f"found {', '.join(case) or 'none'}"
                )
        for name in self.fields:
            _check_field(name)

    def _check_message(self, role: str, text: str, *, place: str) -> None:
        if role not in ROLES:
            raise TopicError(
                f"{place}.role: expected {', '.join(ROLES)}; found {role!r}"
            )
        if not text.strip():
            raise TopicError(f"{place}.content: expected a text, found {text!r}")
        for match in _FIELD.finditer(text):
            name = match[2]
            if name and name not in self.fields:
                fields = ", ".join(self.fields) or "there are no [[cases]]"
                raise TopicError(
                    f"{place}: expected a field of the cases ({fields}), found {match[0]}"
                    f"{closest(name, self.fields)}; write {{{match[0]}}} for the braces "
                    "themselves"
                )

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields of a case."""
        return tuple(self.cases[0]) if self.cases else ()

    def rows(self, categories: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield every case as a template, with its name and the fields that several cases share."""
        factors = [name for name in self.fields if self._is_factor(name)]
        for number, case in enumerate(self.cases or ({},), start=1):
            template = self._template(case)
            problem = conversation_problem(template)
            if problem is not None:
                raise TopicError(f"cases[{number}]: {problem}")
            name = case.get(CASE) or case.get("id") or str(number)
            labels = {factor: case[factor] for factor in factors}
            yield template, {CASE: name, **labels}

    def _template(self, case: Mapping[str, str]) -> str:
        """Return the messages with the fields of a case, or the case as a record."""
        parts: Parts
        if self.messages:
            parts = tuple((role, _filled(text, case)) for role, text in self.messages)
        else:
            parts = tuple(case.items())
        return joined(parts) + END + Y

    def _is_factor(self, name: str) -> bool:
        """Return whether a field is a short label that several cases share."""
        if name in _NAMES_OF_CASE:
            return False
        values = [case[name] for case in self.cases]
        is_label = all(0 < len(value) <= _LONGEST_LABEL for value in values)
        return is_label and 1 < len(set(values)) < len(values)


def _filled(text: str, case: Mapping[str, str]) -> str:
    """Return a text with the fields of a case, in one pass: braces in a case are its text."""
    return _FIELD.sub(lambda match: match[1] or case[match[2]], text)


def _check_field(name: str) -> None:
    is_word = re.fullmatch(r"\w+", name) is not None
    if not is_word or name in (*ROLES, REPLY, "X", "Y"):
        raise TopicError(
            f"cases: expected fields named by letters, digits and _ other than "
            f"{', '.join((*ROLES, REPLY))}, X and Y; found {name!r}"
        )


def read_cases(name: str, folder: Path | None) -> tuple[dict[str, str], ...]:
    """Read the cases of a .csv or .jsonl file beside a topic file.

    Only beside it or below: a topic of someone else must not have other files sent to a model.
    """
    place = f"cases {name!r}"
    path = _path_of_cases(name, folder, place=place)
    try:
        rows = list(islice(read_rows(path), MOST_CASES + 1))
    except TableError as exc:
        raise TopicError(f"{place}: {exc}") from exc
    cases = [
        _case(row, place=f"{place}: row {number}") for number, row in enumerate(rows, 1)
    ]
    if not 1 <= len(cases) <= MOST_CASES:
        number = f"more than {MOST_CASES:,}" if cases else "none"
        raise TopicError(f"{place}: expected 1 to {MOST_CASES:,} cases, found {number}")
    if any("\0" in value for case in cases for value in case.values()):
        raise TopicError(f"{place}: expected text without NUL characters")
    return tuple(cases)


def _path_of_cases(name: str, folder: Path | None, *, place: str) -> Path:
    if folder is None:
        raise TopicError(
            f"{place}: expected [[cases]] in the text, since it is of no file"
        )
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError) as exc:  # links in a circle
        raise TopicError(f"{place}: cannot be read: {exc}") from exc
    if not path.is_relative_to(folder.resolve()):
        raise TopicError(
            f"{place}: expected a file in the folder of the topic; move it there"
        )
    if path.suffix not in (".csv", ".jsonl"):
        raise TopicError(f"{place}: expected a .csv or .jsonl file")
    return path


def _case(row: Row, *, place: str) -> dict[str, str]:
    """Return a row as a case; a number is written as JSON has it."""
    is_plain = all(isinstance(value, str | int | float) for value in row.values())
    if not is_plain or None in row:
        fields = ", ".join(str(name) for name in row if name)
        raise TopicError(
            f"{place}: expected a text or number in each of the fields "
            f"{fields}, found other; put a text with commas or "
            'line breaks in "quotes"'
        )
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in row.items()
    }
