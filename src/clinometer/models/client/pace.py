"""How fast a server is asked: as fast as it allows, found out from its refusals."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_FIRST_WINDOW = 4.0
"""Requests that may be on their way at first."""

_BUSY = 2.5
"""Answers that take this many times as long as the fastest say that the server is busy."""

_GROWTH = 0.1
"""What every answer adds to the window."""

_RESTART_SHARE = 0.97
"""The share of the rate that got through, with which sending begins again after a refusal."""

_RECOVERY_S = 8.0
"""Seconds until the rate that got through is reached again after a refusal."""

_GROWTH_BEYOND_SENT = 1.5
"""How many times the rate that is really sent the allowed rate may be."""

_ALWAYS_ALLOWED = 0.5
"""Requests a second that may be tried beyond that, however few are sent."""

_SLOWEST = 1 / 60
"""The slowest rate: one request a minute."""

_REMEMBERED = 400
"""Requests from which a rate is measured."""

_HOLD_REQUESTS = 10
"""After a refusal nothing is sent for the time of this many requests."""

_MAX_HOLD_S = 1.0
"""The longest pause after a refusal, in seconds, while requests get through."""

_MIN_BLOCKED_HOLD_S = 0.1
"""The first pause, in seconds, while nothing gets through; each is twice the one before."""

_MAX_BLOCKED_HOLD_S = 5.0
"""The longest pause, in seconds, while nothing gets through."""

_LATE_S = 0.1
"""A turn that comes late by less than this is made up for."""

_MAX_SERVER_PAUSE_S = 60.0
"""The longest pause that a server is believed to want, in seconds."""


class Pace:
    """When the next request may begin: as fast as the server allows, found out from its refusals.

    A window limits how many requests are on their way: it begins small, grows with every answer,
    and stops growing once answers take longer for it. A rate limits how many begin in a second: it
    follows what got through between two refusals (429).

    A refusal says that the allowance is used up at this moment. So what got through between two of
    them is what the server gave meanwhile, no matter how much it saves up for a burst. After a
    refusal nothing is sent for a moment, so that a limit that has changed shows in the next refusal
    instead of in dozens; then the rate begins a little below, grows slowly past it, and faster the
    longer no refusal comes.
    """

    def __init__(self, max_in_flight: int, *, steady: bool = False) -> None:
        """Begin with a small window.

        With `steady` the window is `max_in_flight` from the first request on, and refusals are only
        waited out: for a server that sets no limit on the rate.
        """
        self.max_in_flight = max_in_flight
        self._steady = steady
        self.window = float(max_in_flight)
        if not steady:
            self.window = min(_FIRST_WINDOW, self.window)
        self._in_flight = 0
        self._gate = asyncio.Lock()
        self._freed = asyncio.Event()
        self._next_start = 0.0
        self._fastest = math.inf
        self._starts: deque[float] = deque(maxlen=_REMEMBERED)
        """When the last requests began, from the last refusal on."""
        self._limit: float | None = None
        """The rate that got through before the last refusal."""
        self._last_refusal = 0.0
        self._hold = 0.0
        """The pause after the last refusal, in seconds."""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Hold one place in the window, from when the request may begin; first come, first served.

        Yields the time at which it begins.
        """
        async with self._gate:
            while self._in_flight >= int(self.window):
                self._freed.clear()
                await self._freed.wait()
            while (wait := self._next_start - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            now = time.monotonic()
            rate = self.rate()
            if rate is not None:
                self._next_start = max(self._next_start, now - _LATE_S) + 1.0 / rate
            self._starts.append(now)
            self._in_flight += 1
        try:
            yield now
        finally:
            self._in_flight -= 1
            self._freed.set()

    def rate(self) -> float | None:
        """Return how many requests may begin in a second; None while nothing limits them."""
        if self._limit is None:
            return None
        now = time.monotonic()
        recovered = ((now - self._last_refusal) / _RECOVERY_S) ** 3
        grown = self._limit * (_RESTART_SHARE + (1 - _RESTART_SHARE) * recovered)
        # A rate that is not used says nothing about the limit; a slow one is hardly seen.
        usable = _GROWTH_BEYOND_SENT * self._rate_sent(now) + _ALWAYS_ALLOWED
        return max(min(grown, usable), self._limit * _RESTART_SHARE, _SLOWEST)

    def _rate_sent(self, until: float) -> float:
        """Return the requests a second since the last refusal, as far as they are remembered."""
        if not self._starts or until <= self._starts[0]:
            return 0.0
        requests = sum(start < until for start in self._starts) - 1
        return requests / max(until - self._starts[0], 0.1)

    def answered(self, start: float) -> None:
        """Take note that the request that began at `start` was answered."""
        seconds = time.monotonic() - start
        self._fastest = min(self._fastest, seconds)
        if seconds < _BUSY * self._fastest + 0.05:
            self.window = min(self.window + _GROWTH, float(self.max_in_flight))
        elif self.window > _FIRST_WINDOW:
            self.window -= _GROWTH / 2

    def refused(self, start: float, pause: float | None) -> None:
        """Take note that the request that began at `start` came too early.

        `pause` is how long the server wants to be left alone, in seconds.
        """
        now = time.monotonic()
        if pause:
            pause_end = now + min(pause, _MAX_SERVER_PAUSE_S)
            self._next_start = max(self._next_start, pause_end)
        sent_before_last_refusal = start < self._last_refusal
        if self._steady or sent_before_last_refusal:
            return
        got_through = self._rate_sent(start)
        self._limit = self._limit_after(got_through)
        self._hold = self._hold_after(got_through)
        self._next_start = max(self._next_start, now + self._hold)
        self._last_refusal = now
        self._starts.clear()
        self._starts.append(now)
        self.window = max(self.window * 0.9, 1.0)

    def _limit_after(self, got_through: float) -> float | None:
        """Return the limit after a refusal: the rate that got through, at least half of the last.

        Where nothing got through the limit stays as it is.
        """
        rate = self.rate()
        if rate is None:
            return max(got_through, _FIRST_WINDOW)
        if got_through:
            return min(max(got_through, rate / 2), rate)
        return self._limit

    def _hold_after(self, got_through: float) -> float:
        """Return the seconds to wait after a refusal; ever longer while nothing gets through."""
        if got_through and self._limit:
            return min(_HOLD_REQUESTS / self._limit, _MAX_HOLD_S)
        return min(max(2 * self._hold, _MIN_BLOCKED_HOLD_S), _MAX_BLOCKED_HOLD_S)
