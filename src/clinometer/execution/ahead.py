"""Work on one part while the caller is busy with the part before it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Seconds until a thread that computes in Python lets another one continue.
_TURN_S = 2e-4


def one_ahead(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """`work` on every part, in order, in a thread that is one part ahead of the caller: a GPU
    computes while the last results are stored.

    >>> list(one_ahead(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    begun: Future[Result] | None = None
    with _short_turns(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead") as pool:
        for part in parts:
            before, begun = begun, pool.submit(work, part)
            if before is not None:
                yield before.result()
        if begun is not None:
            yield begun.result()


@contextmanager
def _short_turns() -> Iterator[None]:
    """Python's threads take turns of 5 ms; one that gives a GPU its next batch cannot wait so long
    for one that stores the last."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
