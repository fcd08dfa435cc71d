"""Begin, resume, refuse; one writer at a time; results that reach the disk whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.present import present

from clinometer.contexts.mining.work_folder import WorkFolder
from clinometer.errors import ContextError, InputError, RunError
from clinometer.reliability.folder import ReliabilityFolder
from clinometer.runs import RunFolder
from clinometer.storage import resumable
from clinometer.storage.lines import Lines
from clinometer.storage.resumable import Resumable, part_of, store_as_they_come

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
