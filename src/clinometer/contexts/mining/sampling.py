"""Which articles of a corpus are the sample."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Sequence

from clinometer.contexts.mining.settings import MineSettings


def priority(seed: int, source: int, number: int) -> int:
    """Return the random number of an article, 0 to 2**64 - 1; the smallest are the sample.

    >>> priority(0, 0, 1) == priority(0, 0, 1), priority(0, 0, 1) == priority(1, 0, 1)
    (True, False)
    """
    key = f"{seed}:{source}:{number}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


def sampled(counts: Sequence[int], settings: MineSettings) -> list[Sequence[int]]:
    """Return the articles to mine: of each source the numbers, from 1 and increasing.

    They follow from the numbers of articles and the seed, so that every process finds the same.
    """
    if settings.sample is None or settings.sample >= sum(counts):
        return [range(1, count + 1) for count in counts]
    smallest = heapq.nsmallest(settings.sample, _priorities(counts, settings.seed))
    numbers: list[list[int]] = [[] for _ in counts]
    for _, source, number in smallest:
        numbers[source].append(number)
    return [sorted(numbers_of_source) for numbers_of_source in numbers]


def _priorities(counts: Sequence[int], seed: int) -> Iterator[tuple[int, int, int]]:
    """Yield priority, source and number of every article."""
    for source, count in enumerate(counts):
        for number in range(1, count + 1):
            yield priority(seed, source, number), source, number
