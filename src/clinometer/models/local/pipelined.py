"""Prepare one batch while a GPU computes another."""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")


def overlapped(
    work: Callable[[Part], Result], parts: Iterable[Part], *, threads: int
) -> Iterator[Result]:
    """`work` on every part, in order; with several threads one reads its answers while another
    gives the GPU something to do, and the caller prepares the next part."""
    if threads == 1:
        yield from map(work, parts)
        return
    begun: deque[Future[Result]] = deque()
    with collector_off(), ThreadPoolExecutor(max_workers=threads) as pool:
        for part in parts:
            begun.append(pool.submit(work, part))
            # Only a few ahead: preparing competes with the thread that feeds the GPU.
            if len(begun) > threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Disable the garbage collector while batches are in flight: lists of tokens trigger it, and it
    walks over all prompts while the GPU waits (measured: 15 % of a BERT's time on an H200). Also
    while a model is loaded: importing makes little garbage and many objects to look through."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
