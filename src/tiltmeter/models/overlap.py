"""Prepare one part of the work while a GPU computes another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def overlapped(
    work: Callable[[Part], Result], parts: Sequence[Part], *, threads: int
) -> list[Result]:
    """`work` on every part, in order; with several threads one tokenises or reads its answers while
    another gives the GPU something to do."""
    if len(parts) == 1 or threads == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(work, parts))
