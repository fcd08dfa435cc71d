"""Fifty people at once, four seconds; benchmarks/annotate.py does it for a minute, with a kill."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.annotate import intact, simulate


def test_fifty_people_at_once_lose_and_duplicate_nothing(database: Path, tmp_path: Path) -> None:
    # In a thread of its own: the browser of other tests keeps an event loop running in this one.
    with ThreadPoolExecutor(1) as thread:
        crowd = partial(simulate, people=50, seconds=4, kill_at=0, database=str(database))
        found = thread.submit(crowd, tmp_path).result()
    assert intact(found), found
    assert found["answered"] >= 50
    assert found["stored"] == found["answered"] - found["undone"]
