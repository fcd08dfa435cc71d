"""Untrusted text made safe to show: characters that move, hide or colour text become visible."""

from __future__ import annotations

import re

#: Control characters except line feed and tab, lone surrogates, direction marks, and zero-width
#: characters (except the joiners of Persian and Indian scripts).
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: object) -> str:
    """Text in which control characters and direction marks are visible.

    >>> visible("a\\u202eb"), visible(chr(27) + "[31m")
    ('a[U+202E]b', '[U+001B][31m')
    """
    return CONTROLS.sub(lambda m: f"[U+{ord(m[0]):04X}]", str(text))


def one_line(text: object) -> str:
    """The same on one line.

    >>> one_line("a\\n  b")
    'a b'
    """
    return " ".join(visible(text).split())
