"""Asynchronous work called from synchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All results in order; if one fails, the others are cancelled and its error is raised."""
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
        if threading.current_thread() is self.thread:  # it would wait for itself forever
            raise RuntimeError("called from inside the event loop: await instead")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """End after `last`. The garbage collector may call this from the thread that is ending,
        which must not wait for itself."""

        async def finish() -> None:
            await last()
            self.loop.stop()

        if not self.thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(finish(), self.loop)
        if threading.current_thread() is not self.thread:
            self.thread.join(timeout=5)
