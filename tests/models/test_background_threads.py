"""Ahead of the caller, and behind."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from clinometer.models.background import prefetch, write_behind


def test_the_next_part_is_worked_on_while_the_caller_has_the_last() -> None:
    begun = [threading.Event() for _ in range(5)]
    made: list[int] = []

    def parts() -> Iterator[int]:
        for n in range(5):
            made.append(n)
            yield n

    def work(n: int) -> int:
        begun[n].set()
        return n * n

    usual = sys.getswitchinterval()
    for n, found in enumerate(prefetch(work, parts())):
        assert found == n * n
        if n < 4:
            assert begun[n + 1].wait(timeout=60)
        assert len(made) <= n + 2, "no more than one is prepared ahead"
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual


def test_an_error_reaches_the_caller_after_the_results_before_it() -> None:
    def fail(n: int) -> float:
        return 6 / (n - 2)

    found = prefetch(fail, range(9))
    assert [next(found), next(found)] == [-3.0, -6.0]
    with pytest.raises(ZeroDivisionError):
        next(found)
    assert not any(t.name.startswith("prefetch") for t in threading.enumerate())


def test_two_parts_are_worked_on_at_once() -> None:
    both = threading.Barrier(2, timeout=60)

    def meet(n: int) -> int:
        both.wait()
        return n

    assert list(prefetch(meet, range(4), by=2)) == [0, 1, 2, 3]


def test_the_caller_works_while_the_last_part_is_worked_on() -> None:
    may_end = threading.Event()
    done: list[int] = []

    def work(n: int) -> None:
        assert may_end.wait(timeout=60)
        done.append(n)

    with write_behind(work) as later:
        later(1)
        assert done == []
        may_end.set()
        later(2)
        assert done[0] == 1, "the next call waits for the last"
    assert done == [1, 2]


@pytest.mark.parametrize("calls", [1, 2])
def test_an_error_behind_reaches_the_caller(calls: int) -> None:
    def fail(n: int) -> float:
        return 1 / n

    with pytest.raises(ZeroDivisionError), write_behind(fail) as later:  # noqa: PT012
        for n in range(calls):
            later(n)
    assert not any(t.name.startswith("behind") for t in threading.enumerate())
