"""Benchmarks keep up with the source: mutations can still be made."""

from __future__ import annotations

from benchmarks.mutations import MUTATIONS, stale_mutations


def test_every_mutation_can_still_be_made() -> None:
    assert stale_mutations(MUTATIONS) == []
