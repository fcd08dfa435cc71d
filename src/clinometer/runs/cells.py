"""The grid of an audit: every group in every context, in an order that never changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts import ContextSet
from clinometer.topics import Prompt, Topic


@dataclass(frozen=True)
class CellGrid:
    """Cells are numbered group by group, in a group context by context:
    cell = group index * number of contexts + context index.

    Chunks of cells are always scored whole and are the same after an interruption, so that a
    resumed run ends with exactly the numbers of an uninterrupted one.
    """

    topic: Topic
    contexts: ContextSet
    chunk_size: int

    def __len__(self) -> int:
        return len(self.topic) * len(self.contexts)

    def chunks(self) -> Iterator[range]:
        for first in range(0, len(self), self.chunk_size):
            yield range(first, min(first + self.chunk_size, len(self)))

    def places(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Group index and context index of each cell."""
        groups, contexts = np.divmod(cells, len(self.contexts))
        return groups, contexts

    def prompts(self, cells: range | NDArray[np.int64]) -> list[Prompt]:
        groups, contexts = self.places(np.asarray(cells, dtype=np.int64))
        templates, prompts = self.contexts.templates, list[Prompt]()
        ends = [*(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        for start, stop in itertools.pairwise([0, *ends]):  # cells of one group
            some = [templates[c] for c in contexts[start:stop].tolist()]
            prompts += self.topic.render_all(some, self.topic.groups[groups[start]]) if some else []
        return prompts
