"""Rows of the viewer's lists: filtered and sorted by the parameters of the address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from clinometer.web.runs_index import Entry


def filtered(entries: Iterable[Entry], *, q: str, topic: str, state: str) -> list[Entry]:
    """Entries that contain every word of `q`, with this topic and state (empty: any)."""
    words = q.lower().split()
    return [
        e
        for e in entries
        if topic in ("", e.topic)
        and state in ("", e.state)
        and all(w in f"{e.id} {e.model} {e.topic} {e.contexts}".lower() for w in words)
    ]


def run_rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [asdict(e) for e in entries]


def sorted_rows(rows: Sequence[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """Sorted by a column, "-column" from the top; missing values last, unknown columns as is."""
    key = sort.removeprefix("-")
    if not key or not rows or key not in rows[0]:
        return list(rows)
    there = [r for r in rows if r[key] is not None]
    missing = [r for r in rows if r[key] is None]
    return sorted(there, key=lambda r: _rank(r[key]), reverse=sort.startswith("-")) + missing


def _rank(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value
