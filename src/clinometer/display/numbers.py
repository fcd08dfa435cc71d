"""How numbers are written for people."""

from __future__ import annotations

import math
from typing import Any

MISSING = "–"
"""What stands where there is no number."""

SMALL_P = "< 0.001"
"""What stands for a small p-value."""


def risk(value: float | None) -> str:
    """Return a risk with three digits, or a dash where there is none.

    >>> risk(0.48249), risk(-0.0000004), risk(None)
    ('0.482', '0.000', '–')
    """
    return MISSING if value is None else _signed(f"{value:.3f}")


def between(
    low: float | None, high: float | None, *, to: str = "–", missing: str = ""
) -> str:
    """Return the ends of an interval: 0.455–0.507; more digits where three would make them equal.

    >>> between(0.0001, 0.0004), between(0.2, 0.2), between(-0.22, 0.649), between(None, 1.0)
    ('0.0001–0.0004', '0.200', '−0.220 to 0.649', '')
    """
    if low is None or high is None:
        return missing
    separator = " to " if low < 0 else to
    for digits in (3, 4, 5):
        low_end = _signed(f"{low:.{digits}f}")
        high_end = _signed(f"{high:.{digits}f}")
        if low_end != high_end:
            return f"{low_end}{separator}{high_end}"
    return risk(low)


def percent(share: float | None) -> str:
    """Return a share for people: 34 %; 0 % and 100 % only where they are exact.

    >>> percent(0.337), percent(0.0003), percent(0.9996), percent(1.0), percent(None)
    ('34 %', '< 0.1 %', '> 99.9 %', '100 %', '–')
    """
    if share is None or math.isnan(share):
        return MISSING
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    is_whole = share in (0, 1) or 0.0995 <= share < 0.9895
    digits = 0 if is_whole else 1
    return f"{100 * share:.{digits}f} %"


def _signed(text: str) -> str:
    """Return a number with a minus sign for its hyphen; one that was rounded to 0 has no sign."""
    return text.replace("-", "−") if text.strip("-0.") else text.removeprefix("-")


def counted(n: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "group"), counted(1200, "context")
    ('1 group', '1,200 contexts')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(12.3), duration(200), duration(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def money(amount: float) -> str:
    """Return an amount of money, rounded up: an estimate should not be too low.

    >>> money(12.301), money(0.0004), money(0)
    ('12.31', '0.01', '0.00')
    """
    cents = math.ceil(round(amount * 100, 6))
    return f"{cents / 100:,.2f}"


def p_value(value: float | None) -> str:
    """Return a p-value: 0.031, < 0.001, or a dash where there is none."""
    if value is None:
        return MISSING
    return SMALL_P if value < 0.001 else f"{value:.3f}"


def p_relation(value: float | None) -> str:
    """Return a p-value after the letter p: = 0.031, < 0.001.

    >>> p_relation(0.0312), p_relation(1e-9), p_relation(None)
    ('= 0.031', '< 0.001', '–')
    """
    text = p_value(value)
    return text if text in (SMALL_P, MISSING) else f"= {text}"


def show(value: Any, kind: str) -> str:
    """Return a value of a kind as people read it.

    The kinds are text, id, risk, points, signed, signed points, signed share, slope, share, count,
    number, p, and paper: a risk with the four digits of the papers' tables.

    >>> show(-0.25, "signed"), show(1234.0, "count"), show(float("nan"), "risk"), show(0.0, "paper")
    ('−0.250', '1,234', '–', '0')
    >>> show(0.123, "share"), show(0.00123, "share"), show(0.0009, "p"), show(0.001, "p")
    ('12.3 %', '0.12 %', '< 0.001', '0.001')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if kind in ("text", "id") or isinstance(value, str):
        return str(value)
    if kind.startswith("signed"):
        return _with_sign(value, kind)
    match kind:
        case "slope":
            return f"{value:+.3g}".replace("-", "−")
        case "paper":
            return f"{value:.4f}" if value else "0"
        case "count":
            return f"{int(value):,}"
        case "share" if value >= 0.01:
            return f"{100 * value:.1f} %"
        case "share":
            return f"{100 * value:.2g} %"
        case "points":
            return _signed(f"{value:.2f}")
        case "p":
            return p_value(value)
        case "number":
            return f"{value:,.1f}"
    return risk(value)


def _with_sign(value: float, kind: str) -> str:
    """Return a difference with its sign; one that was rounded to 0 has none."""
    text = f"{value:+.2f}"
    if kind == "signed":
        text = f"{value:+.3f}"
    elif kind == "signed share":
        text = f"{100 * value:+.1f}"
    return text.replace("-", "−") if text.strip("+-0.") else text[1:]


MEANINGS = (
    (
        r"Rᵇ|rᵇ|[Bb]ias risk|steady lean",
        "Bias risk Rᵇ: the steady part of R, what remains when the contexts are averaged.",
    ),
    (
        r"Rᵛ|rᵛ|[Vv]olatility risk",
        "Volatility risk Rᵛ: the rest of R, a lean that changes from one context to the next. "
        "R = Rᵇ + Rᵛ.",
    ),
    (
        r"shuffled words|floor",
        "The floor: the R that the same words give when they are dealt to the categories at "
        "random. It says how much of the size of R comes from how common the words are.",
    ),
    (
        r"effective",
        "Effective: how many equally weighted contexts the weighted ones are worth. Few of them "
        "make a number rough.",
    ),
    (
        r"R(?![ᵇᵛ²])",
        "Discrimination risk R: how far an average answer is from the reference. 0: always as the "
        "reference, 1: always the same extreme.",
    ),
)
"""The meaning that pointing at a name shows: (names as a pattern, meaning), the longest first."""
