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

import re
from collections.abc import Callable, Sequence

from clinometer.errors import TopicError
from clinometer.topics.prompt import Prompt, Y

ROLES = ("system", "user", "assistant")
CASE = "case"

REPLY = "reply"
"""Name of the part that the model writes."""

END = f"\n[{REPLY}]\n"
"""How every template ends, before [Y]."""

_HEAD = re.compile(r"\[(?![XY]\])(\w+)\]")
_FIRST = re.compile(_HEAD.pattern + r"\n")
_LIKE_A_HEAD = re.compile(r"\\*" + _HEAD.pattern)
_SLOT = re.compile(r"((?<![\w'’-])(?:[Aa]n?|[Tt]he) )?\[X(?::([^\]\n]+))?\]")
_SENTENCE_STARTS = ("\n", ". ", "? ", "! ")

Parts = tuple[tuple[str, str], ...]


def is_conversation(text: str) -> bool:
    """Return whether a text consists of messages or fields.

    >>> is_conversation("[user]\\nHello [X]"), is_conversation("[X] said that [Y]")
    (True, False)
    """
    return _FIRST.match(text) is not None


def joined(parts: Sequence[tuple[str, str]]) -> str:
    """Return messages (role, text) or fields (name, text) as one text.

    `parts_of` takes it apart again.

    >>> parts = (("system", "Be brief.\\n"), ("user", "Score [X]:\\n[user]\\n  70?"))
    >>> parts_of(joined(parts)) == parts
    True
    """
    return "\n".join(f"[{name}]\n{_escaped(text)}" for name, text in parts)


def _escaped(text: str) -> str:
    """Return a text with a backslash before lines that look as if they began a message."""
    lines = []
    for line in text.split("\n"):
        is_like_head = _LIKE_A_HEAD.fullmatch(line) is not None
        lines.append(f"\\{line}" if is_like_head else line)
    return "\n".join(lines)


def parts_of(text: str) -> Parts:
    """Return the messages or fields of a text, as written; what follows [reply] is left out."""
    parts: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        head = _HEAD.fullmatch(line)
        if head:
            parts.append((head[1], []))
        elif parts:
            is_escaped = _LIKE_A_HEAD.fullmatch(line) is not None
            parts[-1][1].append(line[1:] if is_escaped else line)
    return tuple((name, "\n".join(lines)) for name, lines in parts if name != REPLY)


def messages_of(text: str) -> list[dict[str, str]]:
    """Return what a chat model is sent: the messages, or a plain text as the user's.

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
    return [{"role": role, "content": content} for role, content in parts]


def record_of(text: str) -> dict[str, str] | None:
    """Return the fields of a record; None for messages and plain texts."""
    if not is_conversation(text):
        return None
    fields = dict(parts_of(text))
    return fields if fields and fields.keys().isdisjoint(ROLES) else None


def conversation_problem(text: str) -> str | None:
    """Return what is wrong with such a template, as the middle of an error message.

    None if it is valid.

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
    """Return a template of messages or fields with a group in every [X]; nothing else is changed.

    `form` gives the forms of the group ([X:his]). "a" or "an" before [X] follows the group, as in
    a sentence, and where [X] starts a sentence or a line it has a capital. Each message is filled
    by itself: no group's name and no text of a case can begin another one.

    >>> fill("[user]\\nI am a [X].\\n[reply]\\n[Y]", "engineer", article="an", form=str).before
    '[user]\\nI am an engineer.\\n[reply]\\n'
    """
    problem = conversation_problem(template)
    if problem is not None:
        raise TopicError(f"template: {problem}")

    def fill_slot(slot: re.Match[str]) -> str:
        lead = slot[1] or ""
        key = slot[2]
        if key is not None:
            return f"{lead}{form(key)}"
        fitting = _fitting_article(lead, article)
        if not fitting and _starts_sentence(slot):
            return text[:1].upper() + text[1:]
        return f"{fitting}{text}"

    parts = [(name, _SLOT.sub(fill_slot, part)) for name, part in parts_of(template)]
    return Prompt(joined(parts) + END, "", space=False)


def _fitting_article(lead: str, article: str | None) -> str:
    """Return the article before [X], "a " or "the ", as the group takes it; None: as it is."""
    if article == "":
        return ""
    if article and lead[:1] in ("a", "A"):
        return f"{lead[0]}{article[1:]} "
    return lead


def _starts_sentence(slot: re.Match[str]) -> bool:
    text_to_slot = f"\n{slot.string[: slot.start()]}"
    return text_to_slot.endswith(_SENTENCE_STARTS)
