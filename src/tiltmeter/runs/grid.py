"""The grid of an audit: every group in every context, in an order that never changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiltmeter.contexts import ContextSet
from tiltmeter.topics import Prompt, Topic


@dataclass(frozen=True)
class Grid:
    """Cells are numbered group by group: cell = group number * number of contexts + context number.

    Chunks of cells are always scored whole and always the same, whatever was interrupted, so that a
    continued run ends with the very numbers of an uninterrupted one.
    """

    topic: Topic
    contexts: ContextSet
    chunk_size: int

    def __len__(self) -> int:
        return len(self.topic) * len(self.contexts)

    def chunks(self) -> Iterator[range]:
        for first in range(0, len(self), self.chunk_size):
            yield range(first, min(first + self.chunk_size, len(self)))

    def prompts(self, cells: NDArray[np.int64]) -> list[Prompt]:
        n = len(self.contexts)
        return [
            self.topic.render(self.contexts.templates[cell % n], self.topic.groups[cell // n])
            for cell in cells.tolist()
        ]
