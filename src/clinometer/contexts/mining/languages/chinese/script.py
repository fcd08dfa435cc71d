"""Traditional and simplified characters: all text is turned into simplified ones."""

from __future__ import annotations

import re
from functools import cache

from clinometer.contexts.mining.languages.shared.lexicons import read_lexicon

#: 著 is 着, except in words about writing, fame and visibility.
_ASPECT = re.compile(r"(?<![原名专显合编译土巨论所昭卓])著(?![名作述称有者书录])")
#: Traditional characters that are also simplified ones, in other words.
_EITHER = frozenset("乾夥摺捱")


def to_simplified(text: str) -> str:
    """Text with the characters of our table simplified.

    >>> to_simplified("她離開了學校，看著天，很著名")
    '她离开了学校，看着天，很著名'
    """
    return _ASPECT.sub("着", text.translate(_table()))


def is_simplified(text: str) -> bool:
    """Whether every character is a simplified one, that is, in GB 2312.

    >>> is_simplified("离开学校"), is_simplified("離開学校")
    (True, False)
    """
    try:
        text.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return not _EITHER & set(text)


@cache
def _table() -> dict[int, int]:
    script = read_lexicon(__package__)["script"]
    traditional, simplified = (
        "".join(script[key].split()) for key in ("traditional", "simplified")
    )
    return str.maketrans(traditional, simplified)
