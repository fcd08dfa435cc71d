"""How fast a server is asked: what headers and refusals do to window and rate."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from clinometer.models.server.pace import Pace, refill


class Clock:
    """Time that passes when it is told to, for the pace and for whoever sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def told(limit: int, left: int, reset: str) -> dict[str, str]:
    names = ("limit", "remaining", "reset")
    values = (str(limit), str(left), reset)
    return {
        f"x-ratelimit-{name}-requests": value for name, value in zip(names, values, strict=True)
    }


def test_the_window_grows_with_answers_and_not_with_slow_ones(clock: Clock) -> None:
    pace = Pace(64)
    first = pace.window
    for _ in range(50):
        pace.answered(0.3, {}, 10)
    grown = pace.window
    assert first < grown <= 64
    for _ in range(20):
        pace.answered(3.0, {}, 10)  # ten times as long: the server is busy
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


def test_headers_set_the_rate_once_little_is_left(clock: Clock) -> None:
    pace = Pace(64)
    pace.answered(0.3, told(3000, 2990, "200ms"), 10)
    assert pace.rate() is None
    pace.answered(0.3, told(3000, 5, "59.9s"), 10)
    assert pace.rate() == pytest.approx(50, rel=0.03)
    pace.answered(0.3, told(1500, 5, "59.9s"), 10)  # the limit was halved
    assert pace.rate() == pytest.approx(25, rel=0.03)


def test_a_refusal_sets_the_rate_to_what_gets_through(clock: Clock) -> None:
    pace = Pace(64)
    for _ in range(300):  # 100 a second
        clock.now += 0.01
        pace.answered(0.3, {}, 10)
    for _ in range(40):  # half of them are refused from now on
        clock.now += 0.02
        pace.refused(None)
        pace.answered(0.0, {}, 10)
    rate = pace.rate() or 0.0
    assert 45 < rate < 60
    for _ in range(1000):  # from a little below, past it after a while, as far as it is used
        clock.now += 1 / (pace.rate() or 1.0)
        pace.answered(0.3, {}, 10)
    grown = pace.rate() or 0.0
    assert grown > 1.2 * rate
    clock.now += 100.0  # not used, it says nothing any more
    assert (pace.rate() or 0.0) < grown


def test_a_pause_holds_everyone_back(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.now += seconds

    monkeypatch.setattr(asyncio, "sleep", sleep)

    async def ask() -> None:
        pace = Pace(8)
        pace.refused(2.0)
        async with pace.turn():
            pass

    asyncio.run(ask())
    assert slept == [pytest.approx(2.0)]


def test_limits_are_read_as_durations_and_as_times() -> None:
    later = (datetime.now(UTC) + timedelta(seconds=30)).isoformat()
    names = ("limit", "remaining", "reset")
    anthropic = {
        f"anthropic-ratelimit-tokens-{name}": value
        for name, value in zip(names, ("60000", "30000", later), strict=True)
    }
    left, per_second = refill(anthropic, "tokens") or (0, 0)
    assert left == 30000
    assert per_second == pytest.approx(1000, rel=0.1)
    assert refill(anthropic, "requests") is None
    for wrong in (told(3000, 3001, "1s"), told(3000, 5, "soon"), told(3000, 5, "-1s")):
        assert refill(wrong, "requests") is None


def test_refusals_that_are_no_limit_do_not_slow_it_to_a_halt(clock: Clock) -> None:
    """A server that refuses every tenth request, however slowly it is asked: one after the other,
    each of which takes four seconds."""
    pace = Pace(64)
    for request in range(1, 501):
        clock.now += max(4.0, 1 / (pace.rate() or 1.0))
        if request % 10 == 0:
            pace.refused(None)
        else:
            pace.answered(4.0, {}, 10)
    assert (pace.rate() or 1.0) > 0.2


def test_a_local_server_has_no_rate_but_its_pauses_are_kept(clock: Clock) -> None:
    pace = Pace(8, steady=True)
    for _ in range(20):
        pace.answered(0.05, {}, 10)
        pace.refused(None)
    assert (pace.rate(), pace.window) == (None, 8.0)
    pace.refused(2.0)
    assert pace._next == clock.now + 2.0
