"""How fast a server is asked: what refusals do to window and rate."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest

from clinometer.models.client.pace import Pace

T = TypeVar("T")


class Clock(selectors.SelectSelector):
    """Time that passes when it is told to, or as soon as an event loop has nothing else to do."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(
            loop_factory=lambda: asyncio.SelectorEventLoop(self)
        ) as runner:
            return runner.run(work)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    return clock


def test_the_window_grows_with_answers_and_not_with_slow_ones(clock: Clock) -> None:
    pace = Pace(64)
    first = pace.window
    for _ in range(50):
        pace.answered(clock.now - 0.3)
    grown = pace.window
    assert first < grown <= 64
    for _ in range(20):
        pace.answered(clock.now - 3.0)  # ten times as long: the server is busy
    assert pace.window < grown
    assert pace.rate() is None  # nothing was refused


def test_never_more_at_once_than_allowed() -> None:
    async def ask() -> int:
        pace, most, now = Pace(3), 0, 0

        async def one() -> None:
            nonlocal most, now
            async with pace.turn():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                now -= 1

        await asyncio.gather(*(one() for _ in range(50)))
        return most

    assert asyncio.run(ask()) == 3


class Limit:
    """A provider that allows so many requests a second, saves up those of five seconds, and may
    allow another share of them after so many answers."""

    def __init__(
        self, clock: Clock, rate: float, *, share: float = 1.0, after: int = 0
    ) -> None:
        self.clock, self.rate, self.share, self.after = clock, rate, share, after
        self.most, self.left, self.at = 5 * rate, rate, clock.now
        self.answered = self.refused = 0
        self.rng = np.random.default_rng(0)
        self.allowed = 0.0

    def allows(self) -> bool:
        passed, self.at = self.clock.now - self.at, self.clock.now
        self.allowed += passed * self.rate
        self.left = min(self.most, self.left + passed * self.rate)
        if self.answered == self.after > 0:
            self.rate, self.after = self.rate * self.share, 0
            self.left = min(self.left, self.rate)
        allowed = self.left >= 1
        self.left -= allowed
        self.answered += allowed
        self.refused += not allowed
        return allowed

    async def ask(self, pace: Pace, way: float) -> None:
        """Until it is answered: `way` seconds there and back, 0.3 for an answer."""
        while True:
            async with pace.turn() as begun:
                await asyncio.sleep(way * self.rng.uniform(0.3, 0.7))
                allowed = self.allows()
                await asyncio.sleep(0.3 * allowed + way * self.rng.uniform(0.3, 0.7))
                if allowed:
                    return pace.answered(begun)
                pace.refused(begun, None)
            await asyncio.sleep(self.rng.uniform(0.1, 0.4))


@pytest.mark.parametrize("way", [0.002, 0.04])
@pytest.mark.parametrize("share", [1.0, 0.5, 2.0])
def test_a_limit_is_used_and_seldom_exceeded(
    clock: Clock, share: float, way: float
) -> None:
    limit = Limit(clock, 50.0, share=share, after=2160)

    async def ask() -> None:
        pace = Pace(64)
        await asyncio.gather(*(limit.ask(pace, way) for _ in range(4320)))

    clock.run(ask())
    assert limit.answered == 4320
    assert limit.refused < 0.01 * (limit.answered + limit.refused)
    assert limit.answered > 0.95 * limit.allowed


def test_a_closed_door_is_tried_ever_less_often_and_then_at_the_old_rate(
    clock: Clock,
) -> None:
    """What a fixed number a minute looks like: nothing at all until the minute is over."""

    async def ask() -> None:
        pace, limit = Pace(64), Limit(clock, 50.0)
        await asyncio.gather(*(limit.ask(pace, 0.002) for _ in range(500)))
        rates, until = [], clock.now + 30.0
        while clock.now < until:
            async with pace.turn() as begun:
                pace.refused(begun, None)
                rates.append(pace.rate() or 0.0)
        assert len(rates) < 20
        assert rates[-1] == pytest.approx(rates[0])

    clock.run(ask())


def test_a_rate_that_is_not_used_does_not_grow(clock: Clock) -> None:
    async def ask() -> None:
        pace, limit = Pace(64), Limit(clock, 50.0)
        await asyncio.gather(*(limit.ask(pace, 0.002) for _ in range(1000)))
        used = pace.rate() or 0.0
        clock.now += 1000.0
        assert (pace.rate() or 0.0) <= used

    clock.run(ask())


def test_refusals_that_are_no_limit_do_not_slow_it_to_a_halt(clock: Clock) -> None:
    """A server that refuses every tenth request, however slowly it is asked: one after the other,
    each of which takes four seconds."""
    pace = Pace(64)

    async def ask() -> None:
        for request in range(1, 501):
            async with pace.turn() as begun:
                await asyncio.sleep(4.0)
                if request % 10 == 0:
                    pace.refused(begun, None)
                else:
                    pace.answered(begun)

    clock.run(ask())
    assert (pace.rate() or 1.0) > 0.2


def test_a_local_server_has_no_rate(clock: Clock) -> None:
    pace = Pace(8, steady=True)
    for _ in range(20):
        pace.answered(clock.now - 0.05)
        pace.refused(clock.now, None)
    assert (pace.rate(), pace.window) == (None, 8.0)


@pytest.mark.parametrize("steady", [False, True])
def test_a_server_that_says_how_long_is_left_alone_so_long(
    clock: Clock, steady: bool
) -> None:
    async def ask() -> float:
        pace = Pace(8, steady=steady)
        async with pace.turn() as begun:
            pace.refused(begun, 2.0)
        async with pace.turn() as begun:
            return begun

    assert clock.run(ask()) == pytest.approx(1002.0)
