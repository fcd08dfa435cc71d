"""A dataset, and the real command serving it on a real port."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.annotate import Server

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A place for judgements."""
    return tmp_path / "judgements.sqlite"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Twenty statements; the first is hostile."""
    path = tmp_path / "statements.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "sentence", "sentence_merged", "context_points"])
        writer.writerow(
            ["h", "A", f"(a | b) {HOSTILE}", f"The ___ {HOSTILE} \u202e___."]
        )
        for i in range(1, 20):
            pair = f"(Women | Men) number {i} are late."
            points = f"(Women | Men) number {i} ___ are late ___."
            writer.writerow([f"s{i}", f"Women number {i} are late.", pair, points])
    return path


@contextmanager
def serving(dataset: Path, *options: object) -> Iterator[Server]:
    """The command serving a dataset; killed in the end."""
    server = Server([str(dataset), *map(str, options)])
    server.start()
    try:
        yield server
    finally:
        server.kill()
