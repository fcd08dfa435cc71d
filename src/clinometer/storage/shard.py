"""A share of work: that of one of several machines or processes, I of N, as in --shard 0/8."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from clinometer.errors import SettingsError

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """Every N-th piece of work, from piece I on; the N shards together are all of it.

    >>> [Shard.parse(text).part("abcde") for text in ("0/2", "1/2")]
    ['ace', 'bd']
    """

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read I/N, with I from 0 to N - 1."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if match is not None:
            shard = cls(int(match[1]), int(match[2]))
            if shard.index < shard.of:
                return shard
        raise SettingsError(
            "shard: expected I/N with I from 0 to N - 1, such as 0/8 for the first of eight; "
            f"found {text!r}"
        )

    def part(self, work: Sequence[T]) -> Sequence[T]:
        """Return what this shard does of the work."""
        return work[self.index :: self.of]


WHOLE = Shard(0, 1)
"""The work of one process alone."""
