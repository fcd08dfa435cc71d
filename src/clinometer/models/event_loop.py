"""An event loop beside synchronous code, and waiting for several pieces of work in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_STOPPED = "stopped; rerun"
"""What the error of work says that was stopped because other work had failed."""


async def together(
    work: Sequence[Coroutine[Any, Any, T]], stop: Callable[[], None] | None = None
) -> list[T]:
    """Return all results in order; if one fails, the others are cancelled and its error is raised.

    With `stop` that is called instead, and all others are waited for: what is on its way has been
    paid for.
    """
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    if not tasks:
        return []
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if stop is not None and any(_has_failed(task) for task in tasks):
            stop()
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    error = _first_cause(tasks)
    if error is not None:
        raise error
    return [task.result() for task in tasks]


def _has_failed(task: asyncio.Future[Any]) -> bool:
    return task.done() and task.exception() is not None


def _first_cause(tasks: Sequence[asyncio.Future[Any]]) -> BaseException | None:
    """Return the error of the first task that failed by itself; the others were stopped for it."""
    errors = [task.exception() for task in tasks if not task.cancelled()]
    failures = [error for error in errors if error is not None]
    for error in failures:
        if _STOPPED not in str(error):
            return error
    return failures[0] if failures else None


class EventLoop:
    """An event loop in a separate thread, so that callers need none (and may have one)."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._ended = False
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()

    def _main(self) -> None:
        while not self._ended:  # an application may stop the loop that it is asked in
            self.loop.run_forever()
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of asynchronous work, which the caller's thread waits for."""
        if threading.current_thread() is self.thread:
            # It would wait for itself forever.
            raise RuntimeError("called from inside the event loop: await instead")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """End the loop after cancelling its work and doing `last`.

        The garbage collector may call this from the thread that is ending, which must not wait for
        itself.
        """
        if not self.thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._finish(last), self.loop)
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout=5)

    async def _finish(
        self, last: Callable[[], Coroutine[Any, Any, None]] | None
    ) -> None:
        remaining = asyncio.all_tasks() - {asyncio.current_task()}
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)
        if last is not None:
            await last()
        await asyncio.sleep(0)  # a connection that was closed is gone in the next turn
        self._ended = True
        self.loop.stop()
