"""A prompt of several messages, or a record of fields, as one text in which every line is kept.

    [system]
    You screen applications.
    [user]
    [X] writes: …
    [reply]
    [Y]

A line with a name in brackets begins a message (the name is its role) or a field of a record (its
name); a line of the text itself that looks like one has a backslash before it. Such a text is the
template of a context like any other: it ends where the reply begins, and [X] stands in it at least
once, also as [X:he], [X:his] or another form of the group. `OwnPrompt` makes one of each case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clinometer.errors import TableError, TopicError, closest
from clinometer.storage.rows import read_rows
from clinometer.topics.prompt import Prompt, Y

ROLES = ("system", "user", "assistant")
CASE = "case"
#: Name of the part that the model writes, and how every template ends.
REPLY = "reply"
END = f"\n[{REPLY}]\n"
#: In a file.
MOST_CASES = 100_000
#: A label of a case longer than this is a text, and no factor.
_LONGEST_LABEL = 60

_HEAD = re.compile(r"\[(?![XY]\])(\w+)\]")
_FIRST = re.compile(_HEAD.pattern + r"\n")
_LIKE_A_HEAD = re.compile(r"\\*" + _HEAD.pattern)
_FIELD = re.compile(r"\{(\{\w+\})\}|\{(\w+)\}")
_SLOT = re.compile(r"((?<![\w'’-])(?:[Aa]n?|[Tt]he) )?\[X(?::([^\]\n]+))?\]")
_SENTENCE_STARTS = ("\n", ". ", "? ", "! ")

Parts = tuple[tuple[str, str], ...]


def is_conversation(text: str) -> bool:
    """Whether a text consists of messages or fields.

    >>> is_conversation("[user]\\nHello [X]"), is_conversation("[X] said that [Y]")
    (True, False)
    """
    return _FIRST.match(text) is not None


def joined(parts: Sequence[tuple[str, str]]) -> str:
    """Messages (role, text) or fields (name, text) as one text; `parts_of` takes it apart again.

    >>> parts = (("system", "Be brief.\\n"), ("user", "Score [X]:\\n[user]\\n  70?"))
    >>> parts_of(joined(parts)) == parts
    True
    """
    return "\n".join(f"[{name}]\n{_marked(text)}" for name, text in parts)


def _marked(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        f"\\{line}" if _LIKE_A_HEAD.fullmatch(line) else line for line in lines
    )


def parts_of(text: str) -> Parts:
    """The messages or fields of a text, as written; what follows [reply] is left out."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        if head := _HEAD.fullmatch(line):
            found.append((head[1], []))
        elif found:
            found[-1][1].append(line[1:] if _LIKE_A_HEAD.fullmatch(line) else line)
    return tuple((name, "\n".join(lines)) for name, lines in found if name != REPLY)


def messages_of(text: str) -> list[dict[str, str]]:
    """What a chat model is sent: the messages, or a plain text as the user's.

    >>> messages_of("[system]\\nBe brief.\\n[user]\\nHello.\\n[reply]\\n")[1]
    {'role': 'user', 'content': 'Hello.'}
    >>> messages_of("Hello.")
    [{'role': 'user', 'content': 'Hello.'}]
    """
    if not is_conversation(text):
        return [{"role": "user", "content": text}]
    parts = parts_of(text)
    if any(name not in ROLES for name, _ in parts):
        raise TopicError(
            "messages: expected messages for a model, found a record of fields; add [[messages]] "
            "to the topic, or ask an application (app:, http:)"
        )
    return [{"role": role, "content": said} for role, said in parts]


def record_of(text: str) -> dict[str, str] | None:
    """The fields of a record; None for messages and plain texts."""
    parts = parts_of(text) if is_conversation(text) else ()
    return (
        dict(parts) if parts and all(name not in ROLES for name, _ in parts) else None
    )


def conversation_problem(text: str) -> str | None:
    """What is wrong with such a template, as the middle of an error message; None if it is valid.

    >>> conversation_problem("[user]\\nHello [X:name]\\n[reply]\\n[Y]")
    """
    if not text.endswith(f"{END}{Y}"):
        return (
            f"expected [{REPLY}] and [Y] as the last two lines, where the reply begins"
        )
    if not _SLOT.search(text):
        return (
            "expected [X] at least once, found none; it stands where the group is named"
        )
    return None


def fill(
    template: str, text: str, *, article: str | None, form: Callable[[str], str]
) -> Prompt:
    """A template of messages or fields with a group in every [X]; nothing else is changed.

    `form` gives the forms of the group ([X:his]). "a" or "an" before [X] follows the group, as in
    a sentence, and where [X] starts a sentence or a line it has a capital. Each message is filled
    by itself: no group's name and no text of a case can begin another one.

    >>> fill("[user]\\nI am a [X].\\n[reply]\\n[Y]", "engineer", article="an", form=str).before
    '[user]\\nI am an engineer.\\n[reply]\\n'
    """
    if problem := conversation_problem(template):
        raise TopicError(f"template: {problem}")

    def written(slot: re.Match[str]) -> str:
        lead, name = slot[1] or "", slot[2]
        if name is not None:
            return f"{lead}{form(name)}"
        if lead and article == "":
            lead = ""
        elif article and lead[:1] in ("a", "A"):
            lead = f"{lead[0]}{article[1:]} "
        starts = not lead and f"\n{slot.string[: slot.start()]}"[-2:].endswith(
            _SENTENCE_STARTS
        )
        return f"{lead}{text[:1].upper() if starts else text[:1]}{text[1:]}"

    filled = [(name, _SLOT.sub(written, said)) for name, said in parts_of(template)]
    return Prompt(joined(filled) + END, "", space=False)


@dataclass(frozen=True)
class OwnPrompt:
    """Messages, and the cases whose fields stand in them.

    messages  (role, text), the last by the user; none: an application is sent the record itself
    cases     field -> text, the same fields in each; they are the contexts
    """

    messages: Parts = ()
    cases: tuple[Mapping[str, str], ...] = ()

    def __post_init__(self) -> None:
        for i, (role, said) in enumerate(self.messages, start=1):
            where = f"messages[{i}]"
            if role not in ROLES:
                raise TopicError(
                    f"{where}.role: expected {', '.join(ROLES)}; found {role!r}"
                )
            if not said.strip():
                raise TopicError(f"{where}.content: expected a text, found {said!r}")
            for match in _FIELD.finditer(said):
                if match[2] and match[2] not in self.fields:
                    known = ", ".join(self.fields) or "there are no [[cases]]"
                    raise TopicError(
                        f"{where}: expected a field of the cases ({known}), found {match[0]}"
                        f"{closest(match[2], self.fields)}; write {{{match[0]}}} for the braces "
                        "themselves"
                    )
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
            if not re.fullmatch(r"\w+", name) or name in (*ROLES, REPLY, "X", "Y"):
                raise TopicError(
                    f"cases: expected fields named by letters, digits and _ other than "
                    f"{', '.join((*ROLES, REPLY))}, X and Y; found {name!r}"
                )

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields of a case."""
        return tuple(self.cases[0]) if self.cases else ()

    def rows(self, categories: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Every case as a template, with its name and those fields that several cases share."""
        factors = self._factors()
        for number, case in enumerate(self.cases or ({},), start=1):
            parts = self.messages or tuple(case.items())
            filled = [(name, self._filled(text, case)) for name, text in parts]
            template = joined(filled) + END + Y
            if problem := conversation_problem(template):
                raise TopicError(f"cases[{number}]: {problem}")
            labels = {name: case[name] for name in factors}
            yield (
                template,
                {CASE: case.get(CASE) or case.get("id") or str(number), **labels},
            )

    def _filled(self, text: str, case: Mapping[str, str]) -> str:
        """In one pass: braces in a case are its text."""
        if not self.messages:
            return text
        return _FIELD.sub(lambda match: match[1] or case[match[2]], text)

    def _factors(self) -> list[str]:
        found = []
        for name in self.fields:
            values = [case[name] for case in self.cases]
            short = all(0 < len(value) <= _LONGEST_LABEL for value in values)
            if (
                name not in (CASE, "id")
                and short
                and 1 < len(set(values)) < len(values)
            ):
                found.append(name)
        return found


def read_cases(name: str, folder: Path | None) -> tuple[dict[str, str], ...]:
    """The cases of a .csv or .jsonl file beside a topic file.

    Only beside it or below: a topic of someone else must not have other files sent to a model.
    """
    where = f"cases {name!r}"
    if folder is None:
        raise TopicError(
            f"{where}: expected [[cases]] in the text, since it is of no file"
        )
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError) as exc:  # links in a circle
        raise TopicError(f"{where}: cannot be read: {exc}") from exc
    if not path.is_relative_to(folder.resolve()):
        raise TopicError(
            f"{where}: expected a file in the folder of the topic; move it there"
        )
    if path.suffix not in (".csv", ".jsonl"):
        raise TopicError(f"{where}: expected a .csv or .jsonl file")
    try:
        rows = list(islice(read_rows(path), MOST_CASES + 1))
    except TableError as exc:
        raise TopicError(f"{where}: {exc}") from exc
    cases = []
    for number, row in enumerate(rows, 1):
        if (
            not all(isinstance(v, str | int | float) for v in row.values())
            or None in row
        ):
            raise TopicError(
                f"{where}: row {number}: expected a text or number in each of the fields "
                f"{', '.join(map(str, filter(None, row)))}, found other; put a text with commas or "
                'line breaks in "quotes"'
            )
        cases.append(
            {k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()}
        )
    if not 1 <= len(cases) <= MOST_CASES:
        found = f"more than {MOST_CASES:,}" if cases else "none"
        raise TopicError(f"{where}: expected 1 to {MOST_CASES:,} cases, found {found}")
    if any("\0" in value for case in cases for value in case.values()):
        raise TopicError(f"{where}: expected text without NUL characters")
    return tuple(cases)
