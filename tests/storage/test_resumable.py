"""Begin, resume, refuse; one writer at a time; results that reach the disk whatever happens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.present import present

from clinometer.contexts.mining.work_folder import WorkFolder
from clinometer.errors import ContextError, InputError, RunError
from clinometer.reliability.run import ReliabilityFolder
from clinometer.runs import RunFolder
from clinometer.storage import resumable
from clinometer.storage.resumable import (
    Lines,
    ReplyLog,
    Resumable,
    part_of,
    store_as_they_come,
)

#: Every kind of work that can be resumed, as made by a process that knows the same path.
KINDS: dict[str, Callable[[Path], Resumable]] = {
    "audit": lambda folder: RunFolder(folder / "run"),
    "reliability": lambda folder: ReliabilityFolder(folder / "run"),
    "mining": lambda folder: WorkFolder(folder / "contexts.csv"),
    "statements": lambda folder: Lines(folder / "points.jsonl", {}),
}
#: Those that record what they were begun with at once; the others wait for their model.
AT_ONCE = ("mining", "statements")


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_process_leaves_the_lock_of_the_first(
    kind: str, tmp_path: Path
) -> None:
    first = KINDS[kind](tmp_path)
    with first.opened({}):
        for _ in range(2):
            with pytest.raises(InputError, match="another process"), KINDS[kind](
                tmp_path
            ).opened({}):  # fmt: skip
                pass
            assert first.lock_file.exists()
    assert not first.lock_file.exists()
    with KINDS[kind](tmp_path).opened({}):
        pass


@pytest.mark.parametrize("kind", ["audit", "reliability"])
def test_a_run_that_never_began_leaves_a_folder_only_where_one_was(
    kind: str, tmp_path: Path
) -> None:
    run = KINDS[kind](tmp_path)
    for before in ([], [tmp_path / "run"]):
        for folder in before:
            folder.mkdir()
        with run.opened({}):
            pass
        assert list(tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", AT_ONCE)
def test_the_same_work_is_resumed_and_other_work_refused_by_name(
    kind: str, tmp_path: Path
) -> None:
    def work(**identity: object) -> AbstractContextManager[None]:
        made = KINDS[kind](tmp_path)
        if isinstance(made, Lines):
            made.settings = identity
        return made.opened(identity)

    for _ in range(2):
        with work(seed=0, corpus="x" * 64):
            assert KINDS[kind](tmp_path).earlier() == {"seed": 0, "corpus": "x" * 64}
    known = (
        r"other settings: seed \(0, now 1\), corpus; choose another --out, or --fresh"
    )
    with (
        pytest.raises(InputError, match=known) as caught,
        work(seed=1, corpus="y" * 64),
    ):
        pass
    assert isinstance(caught.value, ContextError if kind == "mining" else RunError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", AT_ONCE)
def test_a_damaged_record_is_one_line_and_fresh_starts_over(
    kind: str, tmp_path: Path
) -> None:
    with KINDS[kind](tmp_path).opened({}):
        pass
    record = next(tmp_path.rglob("*.json"))
    for damage in ("{", "[1]", "null"):
        record.write_text(damage, encoding="utf-8")
        with (
            pytest.raises(InputError, match="--fresh") as caught,
            KINDS[kind](tmp_path).opened({}),
        ):
            pass
        assert "\n" not in str(caught.value)
    with KINDS[kind](tmp_path).opened({}, fresh=True):
        assert KINDS[kind](tmp_path).earlier() == {}


def test_parts_without_a_record_have_no_owner(tmp_path: Path) -> None:
    """A folder that was being removed when the process was killed."""
    scores = tmp_path / "run" / "scores" / "model-000000"
    scores.mkdir(parents=True)
    (scores / "part-000000000-0123456789abcdef.parquet").touch()
    with ReliabilityFolder(tmp_path / "run").opened({}):
        assert not scores.exists()
    parts = tmp_path / "contexts.csv.mining" / "parts"
    parts.mkdir(parents=True)
    (parts / "000000.json").write_text(
        '{"templates": {"x": 1}, "rules": {}}', encoding="utf-8"
    )
    with WorkFolder(tmp_path / "contexts.csv").opened({}):
        assert list(parts.iterdir()) == []


def test_results_are_stored_at_once_then_by_time_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(resumable.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    stored: list[list[str]] = []
    seen: list[tuple[int, int]] = []

    def results() -> Iterator[str]:
        for result, seconds in (
            ("a", 0.0),
            ("b", 0.9),
            ("c", 0.2),
            ("d", 0.5),
            ("e", 0.1),
        ):
            now[0] += seconds
            yield result

    store_as_they_come(
        results(),
        stored.append,
        done=3,
        total=9,
        progress=lambda *told: seen.append(told),
        every_s=1.0,
    )
    assert stored == [["a"], ["b", "c"], ["d", "e"]]
    assert seen == [(n, 9) for n in range(3, 9)]


def test_results_are_stored_when_the_work_fails() -> None:
    stored: list[list[int]] = []

    def stop(done: int, total: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_as_they_come(
            range(5),
            stored.append,
            done=0,
            total=10,
            progress=stop,
            size=lambda _: 2,
            every_s=3600,
        )
    assert stored == [[0], [1, 2]]


def test_progress_of_a_part_counts_in_the_whole() -> None:
    seen: list[tuple[int, int]] = []
    second = present(part_of(lambda *told: seen.append(told), 1, 3))
    second(2, 10)
    assert seen == [(12, 30)]
    assert part_of(None, 0, 1) is None


# --- .jsonl files ---------------------------------------------------------------------------------


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


# --- replies --------------------------------------------------------------------------------------


def test_what_was_used_is_known_after_a_kill(tmp_path: Path) -> None:
    used = {"tokens": 0}
    log = ReplyLog(tmp_path / "replies.jsonl", lambda: used)
    for number in range(3):
        used["tokens"] += 5
        log.put("Is water wet?", number, "Yes.")  # no close: a kill comes
    with log.file.open("a", encoding="utf-8") as stream:
        for odd in (
            {"tokens": True},
            {"tokens": 10**31},
            {"tokens": -1},
            {"tokens": "9"},
            5,
        ):
            stream.write(json.dumps(["key", 0, "x", odd]) + "\n")
        stream.write('["key", 1, "cut o')
    again = ReplyLog(log.file)
    assert again.used == {"tokens": 15}
    assert again.get("Is water wet?", 2) == "Yes."
    log.close()
