"""Parts of the work side by side, as before a GPU."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from clinometer.models.local.batches import overlapped


def test_results_come_in_order_and_batches_are_built_on_demand() -> None:
    made: list[int] = []

    def parts() -> Iterator[int]:
        for n in range(20):
            made.append(n)
            yield n

    found = overlapped(lambda n: (n, threading.get_ident(), gc.isenabled()), parts(), threads=3)
    first = next(found)
    assert len(made) <= 5, "no more is prepared than can be used soon"
    rest = list(found)
    assert [n for n, _, _ in (first, *rest)] == list(range(20))
    assert threading.get_ident() not in {who for _, who, _ in rest}
    assert not any(collects for _, _, collects in rest)
    assert gc.isenabled()


def test_an_error_is_raised_and_the_garbage_collector_is_re_enabled() -> None:
    def fail(n: int) -> float:
        return 1 / (n - 3)

    with pytest.raises(ZeroDivisionError):
        list(overlapped(fail, range(9), threads=2))
    assert gc.isenabled()
