"""Parts of sentences that several findings share."""

from __future__ import annotations

from collections.abc import Iterable

from clinometer.display.numbers import between, percent
from clinometer.statistics.estimate import Estimate

THREE_DIGITS = 3
"""The digits that risks are shown with, by the rules of `display.numbers`."""

NAMED = 2
"""Groups that a sentence names on each side."""


def capital(text: str) -> str:
    """Return a text with a capital at its start, as a sentence begins."""
    return text[:1].upper() + text[1:]


def listed(names: Iterable[str], last: str = "and") -> str:
    """Return names as a sentence lists them.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed(["a"])
    ('a, b and c', 'a or b', 'a')
    """
    texts = list(names)
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def are(n: int) -> str:
    """Return the verb of n things."""
    return "is" if n == 1 else "are"


def minus(text: str) -> str:
    """Return a number with the sign that print has; 0 has none below it.

    >>> minus("-0.3"), minus("-0.0"), minus("+0.0")
    ('−0.3', '0.0', '+0.0')
    """
    is_zero = not text.strip("-0.")
    return text.replace("-", "" if is_zero else "−")


def ends(number: Estimate, digits: int = THREE_DIGITS, *, size: bool = False) -> str:
    """Return the interval of a number in brackets, or nothing without one; of a size, no signs.

    >>> ends(Estimate(-0.35, -0.6, -0.09, 0.95), 2), ends(Estimate(0.4))
    (' (−0.60 to −0.09)', '')
    """
    low, high = number.low, number.high
    if low is None or high is None:
        return ""
    if size and number.value > 0:
        low, high = sorted((max(low, 0.0), high))
    elif size:
        low, high = sorted((max(-high, 0.0), -low))
    if digits == THREE_DIGITS:
        return f" ({between(low, high, to=' to ')})"
    return f" ({minus(f'{low:.{digits}f}')} to {minus(f'{high:.{digits}f}')})"


def share_range(low: float, high: float) -> str:
    """Return a range of shares.

    >>> share_range(0.2, 0.3)
    '20–30 %'
    """
    lower, upper = percent(low), percent(high)
    if lower == upper:
        return lower
    return f"{lower.removesuffix(' %')}–{upper}"


def ruled_out(differences: Iterable[Estimate]) -> dict[str, Estimate]:
    """Return the size that the intervals of all differences rule out, under its name; nothing
    where one has no interval."""
    sizes = []
    for difference in differences:
        if difference.low is None or difference.high is None:
            return {}
        sizes.append(max(-difference.low, difference.high))
    return {"ruled out": Estimate(max(sizes))}
