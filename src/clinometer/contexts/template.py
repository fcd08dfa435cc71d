"""One template: a sentence with the slots [X] and [Y], or messages with both."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from clinometer.topics.conversation import conversation_problem, is_conversation
from clinometer.topics.prompt import X, Y

_LIKE_A_SLOT = re.compile(r"\[\s*[xXyY]\s*\]")


def clean_template(text: str) -> str:
    """Return the text without whitespace around it, and with single spaces inside.

    Messages stay as they are.

    >>> clean_template("  The [X]  said that [Y] ")
    'The [X] said that [Y]'
    """
    return text if is_conversation(text) else " ".join(text.split())


def template_problem(text: str) -> str | None:
    """Return what is wrong with a template, as the middle of an error message; None if valid.

    >>> template_problem("The [X] said that [Y]")
    >>> template_problem("The [X] said that [y]")
    'expected [Y] once, found [y]; write the slot as [Y]'
    """
    if is_conversation(text):
        return conversation_problem(text)
    slots = _LIKE_A_SLOT.findall(text)
    if slots in ([X, Y], [Y, X]):
        return None
    for written in slots:
        if written not in (X, Y):
            slot = f"[{written.strip('[] ').upper()}]"
            return f"expected {slot} once, found {written}; write the slot as {slot}"
    slot = X if text.count(X) != 1 else Y
    times = text.count(slot) or "none"
    return (
        f"expected {slot} once, found {times}; a template needs [X] and [Y] once each"
    )


def context_ids(texts: Sequence[str]) -> tuple[str, ...]:
    """Return a stable name for each context: 12 hexadecimal digits of the sha256 of its text.

    Should two texts have the same digits, the later one gets "-2" (then "-3", …).
    """
    times: Counter[str] = Counter()
    ids = []
    for text in texts:
        digits = hashlib.sha256(text.encode()).hexdigest()[:12]
        times[digits] += 1
        number = times[digits]
        ids.append(digits if number == 1 else f"{digits}-{number}")
    return tuple(ids)
