"""Work on one part while the caller is busy with the part before it or after it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Seconds until a thread that computes in Python lets another one continue.
_TURN_S = 2e-4


def ahead(
    work: Callable[[Part], Result], parts: Iterable[Part], *, by: int = 1
) -> Iterator[Result]:
    """`work` on every part, results in order, in as many threads as it may be parts ahead of the
    caller: a GPU computes while the last results are stored.

    >>> list(ahead(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    begun: deque[Future[Result]] = deque()
    with _short_turns(), ThreadPoolExecutor(max_workers=by, thread_name_prefix="ahead") as pool:
        for part in parts:
            begun.append(pool.submit(work, part))
            if len(begun) > by:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


@contextmanager
def one_behind(work: Callable[[Part], object]) -> Iterator[Callable[[Part], None]]:
    """`work` as a call that returns at once: a thread does it while the caller prepares the next
    part, and the next call waits for it. An error of the thread reaches the caller there, or at
    the end.

    >>> found = []
    >>> with one_behind(found.append) as later:
    ...     for n in range(4):
    ...         later(n)
    >>> found
    [0, 1, 2, 3]
    """
    begun: Future[object] | None = None
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="behind") as pool:

        def later(part: Part) -> None:
            nonlocal begun
            before, begun = begun, None
            if before is not None:
                before.result()
            begun = pool.submit(work, part)

        try:
            yield later
        finally:
            if begun is not None:
                begun.result()


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
