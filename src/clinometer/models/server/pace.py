"""How fast a server is asked: as fast as it allows, found out from its headers and refusals.

A window limits how many requests are on their way: it begins small, grows with every answer, and
stops growing once answers take longer for it. A rate limits how many begin in a second: it follows
the server's rate-limit headers; without them it is the share that got through at the last refusal
(429), from a little below, slowly past it, and faster the longer no refusal comes.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

_FIRST_WINDOW = 4.0
#: Answers that take this many times as long as the fastest say that the server is busy.
_BUSY = 2.5
#: What every answer adds to the window.
_GROWTH = 0.1
#: After a refusal: the share of the rate that got through, and the seconds back to all of it.
_BELOW, _BACK_S = 0.97, 8.0
#: How far past what gets through the rate may grow, and a rate that may always be tried again.
_PAST, _SEEN = 1.1, 0.5
#: Seconds in which refusals are one event: the limit is what gets through meanwhile.
_EVENT_S = 1.0
#: Seconds over which the first rate is measured, and the share of a known rate to use.
_MEASURED_S, _USED = 3.0, 0.985
#: A turn that comes late by less than this is made up for.
_LATE_S = 0.1


class Pace:
    """When the next request may begin."""

    def __init__(self, most: int, *, steady: bool = False) -> None:
        """`steady`: all of `most` from the first, and refusals are only waited out: for a server
        that sets no limit on the rate."""
        self.most, self._steady = most, steady
        self.window = float(most) if steady else min(_FIRST_WINDOW, float(most))
        self._flying = 0
        self._gate, self._freed = asyncio.Lock(), asyncio.Event()
        self._next = 0.0
        self._fastest = math.inf
        self._answers: deque[float] = deque()
        #: the last refusals: the rate before them, since when, and what got through beside them
        self._event: tuple[float, float] | None = None
        self._through = self._early = 0
        #: the rates that headers tell, by what they limit
        self._known: dict[str, float] = {}

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One request, when it may begin; first come, first served."""
        async with self._gate:
            while self._flying >= int(self.window):
                self._freed.clear()
                await self._freed.wait()
            while (wait := self._next - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            rate = self.rate()
            if rate is not None:
                self._next = max(self._next, time.monotonic() - _LATE_S) + 1.0 / rate
            self._flying += 1
        try:
            yield
        finally:
            self._flying -= 1
            self._freed.set()

    def rate(self) -> float | None:
        """Requests a second that may begin; None while nothing limits them."""
        limits = list(self._known.values())
        if self._event is not None:
            before, since = self._event
            through = before * (self._through + 3) / (self._through + 3 + self._early)
            now = time.monotonic()
            grown = through * (_BELOW + (1 - _BELOW) * ((now - since) / _BACK_S) ** 3)
            # A rate that is not used says nothing about the limit; a slow one is hardly seen.
            used = sum(now - at < _MEASURED_S for at in self._answers) / _MEASURED_S
            limits.append(max(min(grown, _PAST * used + _SEEN), through * _BELOW))
        return max(min(limits), 1 / 60) if limits else None

    def answered(self, seconds: float, headers: Mapping[str, str], tokens: int) -> None:
        """A request was answered, after so long."""
        now = time.monotonic()
        self._answers.append(now)
        while self._answers and now - self._answers[0] > _MEASURED_S:
            self._answers.popleft()
        if self._event is not None and 0 <= now - seconds - self._event[1] < _EVENT_S:
            self._through += 1  # sent since the refusal: those before it say nothing
        self._fastest = min(self._fastest, seconds)
        if seconds < _BUSY * self._fastest + 0.05:
            self.window = min(self.window + _GROWTH, float(self.most))
        elif self.window > _FIRST_WINDOW:
            self.window -= _GROWTH / 2
        for what, cost in (("requests", 1.0), ("tokens", float(max(tokens, 1)))):
            known = refill(headers, what)
            if known is not None:
                remaining, per_second = known
                # With much left nothing has to be saved up; the next answers tell more.
                if remaining > 2 * cost * (self._flying + self.window):
                    self._known.pop(what, None)
                else:
                    self._known[what] = per_second / cost * _USED

    def refused(self, pause: float | None) -> None:
        """A request came too early: within a second of others, it belongs to the same event."""
        now = time.monotonic()
        if pause:
            self._next = max(self._next, now + min(pause, 60.0))
        if self._steady:
            return
        if self._event is None or now - self._event[1] > _EVENT_S:
            rate = self.rate()
            if rate is None:
                first = self._answers[0] if self._answers else now
                rate = max(len(self._answers) / max(now - first, 0.5), 1.0)
            self._event, self._through, self._early = (rate, now), 0, 0
            self.window = max(self.window * 0.9, 1.0)
        self._early += 1


_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


def refill(headers: Mapping[str, str], what: str) -> tuple[float, float] | None:
    """What is left of a limit, and how much of it comes back in a second; None if no header says.

    Providers report the limit, what remains of it, and when it will be whole again: as a duration
    (OpenAI and those like it), or as a time (Anthropic).

    >>> names = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests")
    >>> known = dict(zip(names, ("5000", "4999")), **{"x-ratelimit-reset-requests": "12ms"})
    >>> [round(number) for number in refill(known, "requests")]
    [4999, 83]
    """
    for form in ("x-ratelimit-{}-" + what, f"anthropic-ratelimit-{what}-{{}}"):
        limit, remaining, reset = (
            headers.get(form.format(name)) for name in ("limit", "remaining", "reset")
        )
        try:
            whole, left = float(limit or ""), float(remaining or "")
        except ValueError:
            continue
        seconds = _seconds(reset or "")
        if seconds is None or not 0 <= left < whole < 1e12 or not 0 < seconds < 600:
            continue
        return left, (whole - left) / seconds
    return None


def _seconds(text: str) -> float | None:
    """
    >>> _seconds("1m0.5s"), _seconds("12ms"), _seconds("20"), _seconds("soon")
    (60.5, 0.012, 20.0, None)
    """
    try:
        return float(text)
    except ValueError:
        pass
    found = _DURATION.fullmatch(text)
    if found and any(found.groups()):
        days, hours, minutes, seconds, thousandths = (float(n or 0) for n in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds + thousandths / 1e3
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (when - datetime.now(UTC)).total_seconds()
