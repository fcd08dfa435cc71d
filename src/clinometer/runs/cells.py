"""The grid of an audit: every group in every context, in an order that never changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts import ContextSet
from clinometer.topics import Prompt, Topic


@dataclass(frozen=True)
class CellGrid:
    """Cells are numbered round by round, in a round group by group, in a group context by context.

    rounds  how many contexts each round of `audit --precision` added; () when all came at once, so
            that cell = group index * number of contexts + context index

    Chunks of cells are always scored whole and are the same after an interruption, so that a
    resumed run ends with exactly the numbers of an uninterrupted one; and a grid that grows by a
    round keeps the indices of its cells.
    """

    topic: Topic
    contexts: ContextSet
    chunk_size: int
    rounds: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.topic) * len(self.contexts)

    def chunks(self) -> Iterator[range]:
        start = 0
        for size in self.rounds or (len(self.contexts),):
            stop = start + size * len(self.topic)
            for first in range(start, stop, self.chunk_size):
                yield range(first, min(first + self.chunk_size, stop))
            start = stop

    def places(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Group index and context index of each cell."""
        return places(cells, groups=len(self.topic), rounds=self.rounds or (len(self.contexts),))

    def prompts(self, cells: range | NDArray[np.int64]) -> list[Prompt]:
        groups, contexts = self.places(np.asarray(cells, dtype=np.int64))
        templates, prompts = self.contexts.templates, list[Prompt]()
        ends = [*(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        for start, stop in itertools.pairwise([0, *ends]):  # cells of one group
            some = [templates[c] for c in contexts[start:stop].tolist()]
            prompts += self.topic.render_all(some, self.topic.groups[groups[start]]) if some else []
        return prompts


def places(
    cells: NDArray[np.int64], *, groups: int, rounds: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group index and context index of cells; `rounds` lists the contexts in each round.

    >>> places(np.arange(6), groups=2, rounds=[2, 1])
    (array([0, 0, 1, 1, 0, 1]), array([0, 1, 0, 1, 2, 2]))
    """
    sizes = np.array(rounds, dtype=np.int64)
    first_context = np.cumsum(sizes) - sizes
    first_cell = first_context * groups
    at = np.searchsorted(first_cell, cells, side="right") - 1
    inside = cells - first_cell[at]
    context = np.asarray(first_context[at] + inside % sizes[at], dtype=np.int64)
    return inside // sizes[at], context
