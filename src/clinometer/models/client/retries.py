"""How often and after which pause a request is tried again."""

from __future__ import annotations

import email.utils
import math
import random
import time

from clinometer.models.client.failures import FailedAttempt

_ATTEMPTS = 5
"""Attempts at one request before giving up on a server that is silent."""

_MAX_ATTEMPTS = 50
"""Attempts at one request of a server that answers others; it may fail one by bad luck."""

_FIRST_ATTEMPTS = 4
"""Attempts until a server has answered once: it is more likely down than busy."""

_FIRST_WAIT_S = 0.25
"""The first pause, in seconds; each is twice the one before."""

_LONGEST_WAIT_S = 20.0
"""The longest pause, in seconds."""

_LONGEST_RETRY_AFTER_S = 600.0
"""A longer Retry-After is a mistake."""


def seconds_to_wait(failure: FailedAttempt, attempts: int, patience: float) -> float:
    """Return the seconds until the next attempt: what the server wants, or twice the last pause.

    Chance spreads the requests that failed together.
    """
    if failure.pause is not None:
        return failure.pause * random.uniform(1.0, 1.1)  # noqa: S311  (no secret)
    longest = min(_LONGEST_WAIT_S, patience / _ATTEMPTS)
    backoff = min(longest, _FIRST_WAIT_S * 2.0 ** min(attempts - 1, 20))
    return backoff * random.uniform(0.5, 1.5)  # noqa: S311


def is_hopeless(
    failure: FailedAttempt,
    *,
    attempts: int,
    start: float,
    last_answer: float | None,
    patience: float,
) -> bool:
    """Return whether one more attempt at a request that began at `start` would be too many.

    `last_answer` is when the server last answered any request; None if it never did.
    """
    wanted_pause = failure.pause or 0.0
    if wanted_pause > patience or attempts >= _MAX_ATTEMPTS:
        return True
    if last_answer is None and attempts >= _FIRST_ATTEMPTS:
        return True
    tried_enough = attempts >= _ATTEMPTS or failure.reason == "timeout"
    silence = time.monotonic() - max(last_answer or 0.0, start)
    return tried_enough and silence > patience


def retry_after(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, a number or a date.

    None without one, and for one of years, which is a mistake.

    >>> [retry_after(header) for header in ("2", "-5", "nan")]
    [2.0, 0.0, 0.0]
    >>> {retry_after(header) for header in ("soon", None, "1e9", "Fri, 31 Dec 9999 23:59:59 GMT")}
    {None}
    """
    seconds = _seconds_of(header or "")
    if seconds > _LONGEST_RETRY_AFTER_S:
        return None
    return max(0.0, seconds)


def _seconds_of(header: str) -> float:
    """Return the seconds that a number or a date means; infinity for anything else."""
    try:
        return float(header)
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_tz(header)
        if date is None:
            return math.inf
        return email.utils.mktime_tz(date) - time.time()
    except (ValueError, OverflowError):
        return math.inf
