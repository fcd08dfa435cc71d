"""Work on one part while the caller is busy with the part before it or after it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Seconds until a thread that computes in Python lets another one continue; usually 5 ms, for which
#: one that gives a GPU its next batch cannot wait while another stores the last.
_TURN_S = 2e-4


def prefetch(
    work: Callable[[Part], Result],
    parts: Iterable[Part],
    *,
    by: int = 1,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[Result]:
    """`work` on every part, results in order, in as many threads as it may be parts ahead of the
    caller: a GPU computes while the last results are stored. After a failure `stop` is called, and
    what was begun is waited for.

    >>> list(prefetch(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    begun: deque[Future[Result]] = deque()
    usual = sys.getswitchinterval()
    with ThreadPoolExecutor(max_workers=by, thread_name_prefix="prefetch") as pool:
        sys.setswitchinterval(_TURN_S)
        try:
            for part in parts:
                begun.append(pool.submit(work, part))
                if len(begun) > by:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        except BaseException:
            stop()
            raise
        finally:
            sys.setswitchinterval(usual)


@contextmanager
def write_behind(work: Callable[[Part], object]) -> Iterator[Callable[[Part], None]]:
    """`work` as a call that returns at once: a thread does it while the caller prepares the next
    part, and the next call waits for it. An error of the thread reaches the caller there, or at
    the end.

    >>> found = []
    >>> with write_behind(found.append) as later:
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


T = TypeVar("T")


async def together(
    work: Sequence[Coroutine[Any, Any, T]], stop: Callable[[], None] | None = None
) -> list[T]:
    """All results in order; if one fails, the others are cancelled and its error is raised. With
    `stop` that is called instead, and all others are waited for: what is on its way has been paid
    for."""
    tasks = [asyncio.ensure_future(w) for w in work]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if stop is not None and any(task.done() and task.exception() for task in tasks):
            stop()
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    failed = [
        error for task in tasks if not task.cancelled() and (error := task.exception())
    ]
    # the first that failed says why; the others were stopped
    for error in sorted(failed, key=lambda e: "stopped; rerun" in str(e)):
        raise error
    return [task.result() for task in tasks]


class EventLoop:
    """An event loop in a separate thread, so that callers need none (and may have one)."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()

    def _main(self) -> None:
        self.loop.run_forever()
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if (
            threading.current_thread() is self.thread
        ):  # it would wait for itself forever
            raise RuntimeError("called from inside the event loop: await instead")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """End, after `last`. The garbage collector may call this from the thread that is ending,
        which must not wait for itself."""

        async def finish() -> None:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            if last is not None:
                await last()
            await asyncio.sleep(
                0
            )  # a connection that was closed is gone in the next turn
            self.loop.stop()

        if not self.thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(finish(), self.loop)
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout=5)
