"""One part ahead of the caller."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from clinometer.execution.ahead import one_ahead


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
    for n, found in enumerate(one_ahead(work, parts())):
        assert found == n * n
        if n < 4:
            assert begun[n + 1].wait(timeout=60)
        assert len(made) <= n + 2, "no more than one is prepared ahead"
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual


def test_an_error_reaches_the_caller_after_the_results_before_it() -> None:
    def fail(n: int) -> float:
        return 6 / (n - 2)

    found = one_ahead(fail, range(9))
    assert [next(found), next(found)] == [-3.0, -6.0]
    with pytest.raises(ZeroDivisionError):
        next(found)
    assert not any(t.name.startswith("ahead") for t in threading.enumerate())
