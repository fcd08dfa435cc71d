"""Traditional and simplified characters."""

from __future__ import annotations

import re
from functools import cache

from clinometer.contexts.mining.languages.lexicon import read_lexicon

_ASPECT = re.compile(r"(?<![原名专显合编译土巨论所昭卓])著(?![名作述称有者书录])")
"""著 is 着, except in words about writing, fame and visibility."""

_EITHER = frozenset("乾夥摺捱")
"""Traditional characters that are also simplified ones, in other words."""


def to_simplified(text: str) -> str:
    """Return text with the characters of our table simplified.

    >>> to_simplified("她離開了學校，看著天，很著名")
    '她离开了学校，看着天，很著名'
    """
    return _ASPECT.sub("着", text.translate(_table()))


def is_simplified(text: str) -> bool:
    """Return whether every character is a simplified one, that is, in GB 2312.

    One of 乾燥 is so only in other words.

    >>> is_simplified("离开学校"), is_simplified("離開學校"), is_simplified("乾燥")
    (True, False, False)
    """
    try:
        text.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return _EITHER.isdisjoint(text)


@cache
def _table() -> dict[int, int]:
    script = read_lexicon(__package__)["script"]
    traditional = "".join(script["traditional"].split())
    simplified = "".join(script["simplified"].split())
    return str.maketrans(traditional, simplified)
