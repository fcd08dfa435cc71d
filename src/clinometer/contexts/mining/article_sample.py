"""A random sample of N articles in one pass over a stream of unknown length.

Every article has a random number of its own, drawn from the seed and its place in the corpus; the
sample are the N articles with the smallest. So shards can be read apart and in any order, and the
sample is the same: the N smallest of all are among the N smallest of each.
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
        """Take a number in; whether it is among the n smallest now."""
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
