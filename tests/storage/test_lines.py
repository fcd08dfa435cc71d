"""A .jsonl file keeps whole rows, and only what is missing is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clinometer.errors import RunError
from clinometer.storage.lines import Lines


def taken(path: Path | None, ids: list[str]) -> list[str]:
    """Make what is missing; returns the ids that were made."""
    made: list[str] = []
    with Lines(path, {"seed": 0}).resumed() as lines:
        for name in ids:
            if name not in lines.rows:
                made.append(name)
        rows = lines.take(
            ({"id": name, "text": "a\u2028b"} for name in made), ids, None
        )
    assert [row["id"] for row in rows] == ids
    assert all(row["text"] == "a\u2028b" for row in rows)
    return made


def test_rows_are_kept_with_every_character_and_only_the_rest_is_made(
    tmp_path: Path,
) -> None:
    out = tmp_path / "points.jsonl"
    assert taken(out, ["1", "2"]) == ["1", "2"]
    assert taken(out, ["1", "2", "3"]) == ["3"]
    assert {p.name for p in tmp_path.iterdir()} == {"points.jsonl", "points.json"}
    assert taken(None, ["1"]) == ["1"]


def test_rows_are_on_the_disk_before_they_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the moment of a sync the file has the row, and nobody has been told of it."""
    out, lines = tmp_path / "points.jsonl", Lines(tmp_path / "points.jsonl", {})
    at_sync: list[tuple[int, int]] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        if (
            os.path.samestat(os.fstat(descriptor), out.stat())
            if out.exists()
            else False
        ):
            at_sync.append((out.read_bytes().count(b"\n"), len(lines.rows)))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    with lines.resumed():
        lines.take(({"id": name} for name in "ab"), ["a", "b"], None)
    assert at_sync == [(1, 0), (2, 1)]


def test_a_half_written_row_is_made_again(tmp_path: Path) -> None:
    out = tmp_path / "points.jsonl"
    taken(out, ["1", "2"])
    whole = out.read_bytes()
    for cut in range(len(whole) // 2 + 1, len(whole)):
        out.write_bytes(whole[:cut])
        assert taken(out, ["1", "2"]) == ["2"]
        assert out.read_bytes() == whole


def test_a_damaged_row_is_named_by_its_line(tmp_path: Path) -> None:
    out = tmp_path / "points.jsonl"
    taken(out, ["1"])
    with out.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(RunError, match=r"line 2 .*--fresh"):
        taken(out, ["1"])
