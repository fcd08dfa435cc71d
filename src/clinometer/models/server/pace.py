"""How fast a server is asked: as fast as it allows, found out from its headers and refusals.

A window limits how many requests are on their way: it begins small, grows with every answer, and
stops growing once answers take longer for it. A rate limits how many begin in a second: it follows
the server's rate-limit headers; without them, what got through between two refusals (429).

A refusal says that the allowance is used up at this moment. So what got through between two of them
is what the server gave meanwhile, no matter how much it saves up for a burst. After a refusal
nothing is sent for a moment, so that a limit that has changed shows in the next refusal instead of
in dozens; then the rate begins a little below, grows slowly past it, and faster the longer no
refusal comes.
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
#: How far past what is sent the rate may grow, and a rate that may always be tried again.
_PAST, _SEEN = 1.5, 0.5
#: Requests from which a rate is measured.
_MEASURED = 400
#: The pause after a refusal: the time of this many requests, at most this many seconds.
_HOLD, _HOLD_S = 10, 1.0
#: While nothing gets through: the shortest pause and the longest; each is twice the one before.
_LEAST_HOLD_S, _LONGEST_HOLD_S = 0.1, 5.0
#: The share of a known rate to use.
_USED = 0.985
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
        #: when the last requests began, from the last refusal on
        self._begun: deque[float] = deque(maxlen=_MEASURED)
        #: the rate that got through before the last refusal, when that was, and the pause after it
        self._limit: float | None = None
        self._since = self._hold = 0.0
        #: the rates that headers tell, by what they limit
        self._known: dict[str, float] = {}

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """One request, when it may begin; first come, first served. Gives the time."""
        async with self._gate:
            while self._flying >= int(self.window):
                self._freed.clear()
                await self._freed.wait()
            while (wait := self._next - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            now, rate = time.monotonic(), self.rate()
            if rate is not None:
                self._next = max(self._next, now - _LATE_S) + 1.0 / rate
            self._begun.append(now)
            self._flying += 1
        try:
            yield now
        finally:
            self._flying -= 1
            self._freed.set()

    def rate(self) -> float | None:
        """Requests a second that may begin; None while nothing limits them."""
        limits = list(self._known.values())
        if self._limit is not None:
            now = time.monotonic()
            grown = self._limit * (_BELOW + (1 - _BELOW) * ((now - self._since) / _BACK_S) ** 3)
            # A rate that is not used says nothing about the limit; a slow one is hardly seen.
            limits.append(max(min(grown, _PAST * self._sent(now) + _SEEN), self._limit * _BELOW))
        return max(min(limits), 1 / 60) if limits else None

    def _sent(self, until: float) -> float:
        """Requests a second since the last refusal, as far as they are remembered."""
        if not self._begun or until <= self._begun[0]:
            return 0.0
        between = sum(at < until for at in self._begun) - 1
        return between / max(until - self._begun[0], 0.1)

    def answered(self, begun: float, headers: Mapping[str, str], tokens: int) -> None:
        """The request that began then was answered."""
        seconds = time.monotonic() - begun
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

    def refused(self, begun: float, pause: float | None) -> None:
        """The request that began then came too early; `pause` is how long the server wants."""
        now = time.monotonic()
        if pause:
            self._next = max(self._next, now + min(pause, 60.0))
        if self._steady or begun < self._since:  # sent before the last refusal was known
            return
        through, rate = self._sent(begun), self.rate()
        if rate is None:
            self._limit = max(through, _FIRST_WINDOW)
        elif through:
            self._limit = min(max(through, rate / 2), rate)
        if through and self._limit:
            self._hold = min(_HOLD / self._limit, _HOLD_S)
        else:
            self._hold = min(max(2 * self._hold, _LEAST_HOLD_S), _LONGEST_HOLD_S)
        self._next = max(self._next, now + self._hold)
        self._since = now
        self._begun.clear()
        self._begun.append(now)
        self.window = max(self.window * 0.9, 1.0)


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
