"""A random sample of N articles in one pass over a stream of unknown length.

Each article gets a random number that depends only on the seed and its position in the corpus; the
sample is the N articles with the smallest numbers. Shards can therefore be read separately and in
any order: the N smallest overall are among the N smallest of each shard.
"""

from __future__ import annotations

import hashlib
import heapq


def priority(seed: int, source: int, number: int) -> int:
    """The random number of an article, 0 to 2**64 - 1.

    >>> priority(0, 0, 1) == priority(0, 0, 1), priority(0, 0, 1) == priority(1, 0, 1)
    (True, False)
    """
    key = f"{seed}:{source}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


class Smallest:
    """The n smallest numbers seen so far.

    >>> smallest = Smallest(2)
    >>> [smallest.add(x) for x in (5, 3, 9, 1)], smallest.limit
    ([True, True, False, True], 3)
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._heap: list[int] = []  # negated: the largest kept number is on top

    def add(self, number: int) -> bool:
        """Add a number; return whether it is now among the n smallest."""
        if len(self._heap) < self.n:
            heapq.heappush(self._heap, -number)
            return True
        if number >= -self._heap[0]:
            return False
        heapq.heapreplace(self._heap, -number)
        return True

    @property
    def limit(self) -> int:
        """The largest number that belongs to the n smallest."""
        return -self._heap[0] if self._heap else -1
