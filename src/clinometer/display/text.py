"""Results as plain JSON values, and untrusted text made safe to show."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def brief(text: object, length: int = 60) -> str:
    """Return visible text of at most `length` characters, on one line.

    >>> brief("abcdefgh", 5)
    'abcd…'
    """
    line = one_line(text)
    if len(line) <= length:
        return line
    cut = line[: length - 1].rstrip()
    # Never between a letter and its accent.
    while cut and unicodedata.combining(line[len(cut)]):
        cut = cut[:-1]
    return cut + "…"


PROPER_NAMES = re.compile(
    r"\b(?:c[efiost]o|african|asian|buddhist|christian|hindu|hispanic|indian|jewish|latino|muslim)"
    r"(?=s?\b)"
)
"""Offices and peoples that word lists write in lower case."""


def proper(text: str) -> str:
    """Return names of groups and categories as English writes them; prompts keep what was asked.

    >>> proper("cto"), proper("asian words"), proper("doctor")
    ('CTO', 'Asian words', 'doctor')
    """

    def capitalised(match: re.Match[str]) -> str:
        is_office = len(match[0]) == 3
        return match[0].upper() if is_office else match[0].title()

    return PROPER_NAMES.sub(capitalised, text)


IRREGULAR_PLURALS = {
    "counsel": "counsel",
    "faculty": "faculty",
    "police": "police",
    "salesperson": "salespeople",
}
"""Plurals of built-in groups that follow no rule."""


def plural(noun: str) -> str:
    """Return the plural of an English noun.

    >>> [plural(n) for n in ("nurse", "secretary", "coach", "fireman", "ceo", "actress")]
    ['nurses', 'secretaries', 'coaches', 'firemen', 'CEOs', 'actresses']
    """
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    if re.fullmatch(r"c[efiost]o", noun):
        return f"{noun.upper()}s"
    if re.search(r"(?<!hu)man$", noun):
        return f"{noun[:-2]}en"
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    if re.search(r"(s|x|z|ch|sh)$", noun):
        return f"{noun}es"
    return f"{noun}s"


class Plain:
    """A dataclass that is written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values; None for NaN and infinity."""
        return to_plain(self)


def to_plain(result: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, each converted by `plain`."""
    return {field.name: plain(getattr(result, field.name)) for field in fields(result)}


def plain(value: Any) -> Any:
    """Return a value as dicts, lists, text and finite numbers.

    A `to_dict` method takes precedence; NaN and infinity become None.

    >>> plain({"a": (1, float("nan")), "b": Path("x")})
    {'a': [1, None], 'b': 'x'}
    """
    if is_dataclass(value):
        return value.to_dict() if hasattr(value, "to_dict") else to_plain(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def plain_records(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as plain values."""
    return [
        {str(name): plain(value) for name, value in row.items()}
        for row in frame.astype(object).to_dict(orient="records")
    ]


CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters except line feed and tab, lone surrogates, direction marks, and zero-width
characters (except the joiners of Persian and Indian scripts)."""


def visible(text: object) -> str:
    """Return text in which control characters and direction marks are visible.

    >>> visible("a\\u202eb"), visible(chr(27) + "[31m")
    ('a[U+202E]b', '[U+001B][31m')
    """
    return CONTROLS.sub(lambda m: f"[U+{ord(m[0]):04X}]", str(text))


def one_line(text: object) -> str:
    """Return visible text on one line.

    >>> one_line("a\\n  b")
    'a b'
    """
    return " ".join(visible(text).split())


SECRET_NAMES = re.compile(r"(?i)CLINOMETER_APP_\w+|\w*(KEY|TOKEN|SECRET|PASS)\w*")
"""The names of variables of the environment whose values are secrets."""

SHORTEST_SECRET = 4
"""A shorter value is no secret: it would stand in other words too."""


def without_keys(text: str) -> str:
    """Return a text, such as a traceback, without the secrets of the environment in it."""
    secrets = set()
    for name, value in os.environ.items():
        if SECRET_NAMES.fullmatch(name) and len(value) >= SHORTEST_SECRET:
            secrets.add(value)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[key]")
    return text
