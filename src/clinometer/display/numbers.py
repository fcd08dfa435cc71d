"""How numbers are written for people."""

from __future__ import annotations

import math
from typing import Any

MISSING = "–"
_SMALL_P = "< 0.001"


def risk(value: float | None) -> str:
    """0.482, or a dash where there is none."""
    return MISSING if value is None else f"{value:.3f}"


def between(low: float | None, high: float | None, *, to: str = "–", missing: str = "") -> str:
    """The ends of an interval: 0.455–0.507."""
    return missing if low is None or high is None else f"{low:.3f}{to}{high:.3f}"


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "group"), counted(1200, "context")
    ('1 group', '1,200 contexts')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def p_value(value: float | None) -> str:
    """0.031, < 0.001, or a dash where there is none."""
    return MISSING if value is None else _SMALL_P if value < 0.001 else f"{value:.3f}"


def p_relation(value: float | None) -> str:
    """The same after a letter p: = 0.031, < 0.001.

    >>> p_relation(0.0312), p_relation(1e-9), p_relation(None)
    ('= 0.031', '< 0.001', '–')
    """
    shown = p_value(value)
    return shown if shown in (_SMALL_P, MISSING) else f"= {shown}"


def show(value: Any, kind: str) -> str:
    """A value of a kind (text, id, risk, signed, share, count, number, p) as people read it.

    >>> show(-0.25, "signed"), show(1234.0, "count"), show(float("nan"), "risk")
    ('−0.250', '1,234', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if kind == "text" or kind == "id" or isinstance(value, str):
        return str(value)
    if kind == "count":
        return f"{int(value):,}"
    if kind == "share":
        return f"{100 * value:.1f} %" if value >= 0.01 else f"{100 * value:.2g} %"
    if kind == "signed":
        return f"{value:+.3f}".replace("-", "−")
    if kind == "p":
        return p_value(value)
    if kind == "number":
        return f"{value:,.1f}"
    return risk(value)
