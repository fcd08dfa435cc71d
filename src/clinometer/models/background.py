"""Work on one part in threads while the caller is busy with the part before it or after it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_SWITCH_INTERVAL_S = 2e-4
"""Seconds until a thread that computes in Python lets another one continue; usually 5 ms, for which
one that gives a GPU its next batch cannot wait while another stores the last."""


def prefetch(
    work: Callable[[Part], Result],
    parts: Iterable[Part],
    *,
    by: int = 1,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[Result]:
    """Yield the result of `work` for every part, in order.

    As many threads as `by` work ahead of the caller: a GPU computes while the last results are
    stored. After a failure `stop` is called, and what has started is waited for.

    >>> list(prefetch(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    futures: deque[Future[Result]] = deque()
    usual_interval = sys.getswitchinterval()
    with ThreadPoolExecutor(max_workers=by, thread_name_prefix="prefetch") as pool:
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        try:
            for part in parts:
                futures.append(pool.submit(work, part))
                if len(futures) > by:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        except BaseException:
            stop()
            raise
        finally:
            sys.setswitchinterval(usual_interval)


@contextmanager
def write_behind(work: Callable[[Part], object]) -> Iterator[Callable[[Part], None]]:
    """Yield `work` as a call that returns at once.

    A thread does the work while the caller prepares the next part, and the next call waits for it.
    An error of the thread reaches the caller there, or at the end.

    >>> parts = []
    >>> with write_behind(parts.append) as write:
    ...     for n in range(4):
    ...         write(n)
    >>> parts
    [0, 1, 2, 3]
    """
    future: Future[object] | None = None
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="behind") as pool:

        def write(part: Part) -> None:
            nonlocal future
            if future is not None:
                previous = future
                future = None  # its error is raised once
                previous.result()
            future = pool.submit(work, part)

        try:
            yield write
        finally:
            if future is not None:
                future.result()
