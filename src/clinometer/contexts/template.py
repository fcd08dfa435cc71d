"""What a template is: a text with the slots [X] and [Y], once each."""

from __future__ import annotations

import re

from clinometer.topics.prompt import X, Y

_LIKE_A_SLOT = re.compile(r"\[\s*[xXyY]\s*\]")


def clean_template(text: str) -> str:
    """The text without whitespace around it, and with single spaces inside.

    >>> clean_template("  The [X]  said that [Y] ")
    'The [X] said that [Y]'
    """
    return " ".join(text.split())


def template_problem(text: str) -> str | None:
    """What is wrong with a template, as the middle of an error message; None when it is right.

    >>> template_problem("The [X] said that [Y]")
    >>> template_problem("The [X] said that [y]")
    'expected [Y] once, found [y]; write the slot as [Y]'
    """
    slots = _LIKE_A_SLOT.findall(text)
    if slots in ([X, Y], [Y, X]):
        return None
    for found in slots:
        if found not in (X, Y):
            slot = f"[{found.strip('[] ').upper()}]"
            return f"expected {slot} once, found {found}; write the slot as {slot}"
    slot = X if text.count(X) != 1 else Y
    number = text.count(slot)
    times = "none" if number == 0 else f"{number}"
    return f"expected {slot} once, found {times}; a template needs [X] and [Y] once each"


def write_count(count: float) -> str:
    """A count as text that reads back as the same number: 2142, 0.5.

    >>> write_count(2142.0), write_count(0.1)
    ('2142', '0.1')
    """
    return str(int(count)) if count.is_integer() and count < 2**53 else repr(count)
