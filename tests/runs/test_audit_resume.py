"""Runs that are killed, damaged, out of disk, or read while they are written."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.present import present
from tests.processes import python, until
from tests.runs.small_audit import CELLS, MODEL, SMALL, Started, finish, same

from clinometer.errors import RunError
from clinometer.measure import Preferences
from clinometer.report import write_report
from clinometer.runs import Run, RunFolder, audit
from clinometer.storage.result_folder import READING_PAUSES_S


@pytest.fixture
def copied(small: Run, tmp_path: Path) -> Path:
    """A copy of the small audit, to be spoiled."""
    return Path(shutil.copytree(present(small.path), tmp_path / "run"))


def stored(out: Path) -> int:
    return sum(0 if t is None else len(t) for _, t in RunFolder(out).parts.read())


def test_repeatedly_killed_runs_end_with_the_same_numbers(
    tmp_path: Path, small: Run
) -> None:
    out, rng = tmp_path / "run", random.Random(0)  # noqa: S311
    kills, before = 0, 0
    while kills < 3 and before < CELLS:
        started = Started(out, 0.5)
        begun = started.next()  # killed while it scores, or just before or after
        time.sleep(rng.uniform(0.0, 0.9))
        started.kill()
        begun += sum(started.rest())
        kills += 1
        now = stored(out)
        assert begun - (now - before) <= 256  # at most one chunk will be scored twice
        before = now
    assert kills >= 2
    run = finish(out)
    assert same(run, small)
    assert stored(out) == CELLS


def test_leftovers_without_a_record_are_discarded(copied: Path) -> None:
    """A run that was being removed when it was killed: its parts must not become another's."""
    (copied / "run.json").unlink()
    other = audit("reference:random", out=copied, **SMALL)
    assert other.risks.R.value == 1
    assert not (copied / "scores").exists()


# --- measuring again --------------------------------------------------------------------------


def test_measuring_again_needs_no_model_and_no_torch(small: Run, copied: Path) -> None:
    (copied / "preferences.parquet").unlink()  # what is derived is written again
    (copied / "groups.parquet").write_bytes(b"damaged")
    code = (
        "import sys; from tests.runs.small_audit import *\n"
        "audit(MODEL, out=sys.argv[1], **SMALL)\n"
        "print(*({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = python(code, copied)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
    assert same(Run.load(copied), small)


@pytest.mark.usefixtures("no_model")
def test_a_resume_reads_its_record_once_and_measures_once(
    small: Run, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a finished run is loaded as it was measured."""
    calls: Counter[str] = Counter()

    def counting(kind: type, name: str) -> None:
        method = getattr(kind, name)

        def counted(*args: Any, **options: Any) -> Any:
            calls[name] += 1
            return method(*args, **options)

        monkeypatch.setattr(kind, name, counted)

    counting(RunFolder, "read_record")
    counting(Preferences, "estimate")
    audit(MODEL, out=copied, **SMALL)
    assert calls == {"read_record": 1, "estimate": 1}
    calls.clear()
    loaded = Run.load(copied)
    assert calls == {"read_record": 1}
    assert same(loaded, small)
    assert loaded.risks.to_dict() == small.risks.to_dict()
    again = loaded.preferences.estimate(**loaded.record.settings.inference())
    assert again.to_dict() == loaded.risks.to_dict()


def test_fresh_starts_over_where_the_record_is_damaged(tmp_path: Path) -> None:
    out = tmp_path / "run"
    audit("reference:random", out=out, **SMALL)
    (out / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match="damaged"):
        audit("reference:random", out=out, **SMALL)
    assert audit("reference:random", out=out, fresh=True, **SMALL).risks.R.value == 1


def test_fresh_starts_over_where_the_record_of_edits_is_damaged(tmp_path: Path) -> None:
    out, few = tmp_path / "run", {**SMALL, "topic": SMALL["topic"].select(["nurse"])}
    first = audit(MODEL, out=out, **few)
    (out / "placebo").mkdir()
    (out / "placebo" / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match="damaged"):
        audit(MODEL, out=out, **few)
    again = audit(MODEL, out=out, fresh=True, **few)
    assert again.preferences.equals(first.preferences)


# --- damage -----------------------------------------------------------------------------------


def test_a_bit_flip_in_a_part_is_rescored(small: Run, copied: Path) -> None:
    part = RunFolder(copied).parts.files()[-1]
    data = bytearray(part.read_bytes())
    data[int(np.random.default_rng(0).integers(len(data)))] ^= 1
    part.write_bytes(bytes(data))
    assert stored(copied) < CELLS
    assert same(finish(copied), small)
    assert stored(copied) == CELLS


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("name", ["preferences", "groups", "contexts"])
def test_a_bit_flip_in_a_table_is_refused_and_written_again(
    small: Run, copied: Path, name: str
) -> None:
    file = copied / f"{name}.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 4
    file.write_bytes(bytes(data))
    with pytest.raises(RunError, match=rf"{name}\.parquet: damaged"):
        Run.load(copied)
    audit(MODEL, out=copied, **SMALL)
    assert same(Run.load(copied), small)


def test_another_model_is_refused_and_auto_settings_stay_fixed(tmp_path: Path) -> None:
    out, few = tmp_path / "run", {**SMALL, "topic": SMALL["topic"].select(["nurse"])}
    audit(MODEL, out=out, **few)
    folder = RunFolder(out)
    folder.parts.clear()
    record = folder.read_record()
    folder.write_record(
        record, model={**record.model.model_dump(), "revision": "folder-0"}
    )
    with pytest.raises(RunError, match="begun with revision folder-0"):
        audit(MODEL, out=out, **few)
    folder.write_record(
        record, model={**record.model.model_dump(), "dtype": "bfloat16"}
    )
    run = audit(MODEL, out=out, **few)
    assert (
        run.record.model.dtype == "bfloat16"
    )  # and not float32, as auto says on a CPU


# --- disks ------------------------------------------------------------------------------------


def test_a_full_disk_is_one_line_and_the_run_resumes(
    tmp_path: Path, small: Run, disk: Callable[[str], Path | None]
) -> None:
    folder = disk("size=100k")
    out = (folder or tmp_path) / "run"
    started = Started(out, limit=None if folder else 20_000)
    *_, error = started.rest()
    assert started.process.exitcode == 1
    assert "cannot be written: " in error
    assert ("No space left on device" if folder else "File too large") in error
    assert not list(out.rglob("*.tmp"))
    kept = stored(out)
    assert kept < CELLS
    disk("size=20m")
    assert same(finish(out), small)


def test_a_read_only_folder_can_be_read(
    tmp_path: Path, small: Run, disk: Callable[[str], Path | None]
) -> None:
    folder = disk("size=20m") or tmp_path / "disk"
    shutil.copytree(present(small.path), folder / "run")
    if disk("ro") is None:  # nobody but root can write there after this
        (folder / "run").chmod(0o555)
        assert os.geteuid() != 0, (
            "root without the right to mount cannot be kept out of a folder"
        )
    assert same(Run.load(folder / "run"), small)
    with pytest.raises(RunError, match="cannot be written: "):
        audit(MODEL, out=folder / "run", **SMALL)
    with pytest.raises(RunError, match="cannot be written: "):
        audit(MODEL, out=folder / "run" / "new", **SMALL)
    (folder / "run").chmod(0o755) if disk("rw") is None else None


# --- readers beside a writer ------------------------------------------------------------------


def test_ten_readers_never_see_half_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer scores, measures with one criterion after the other, and starts over; a reader
    gets a run that belongs together, or a line that says it is not finished."""
    monkeypatch.setattr(
        "clinometer.storage.result_folder.READING_PAUSES_S", READING_PAUSES_S
    )
    out, over = tmp_path / "run", threading.Event()
    seen: list[float] = []
    reported: set[float] = set()
    wrong: list[BaseException] = []

    def read(number: int) -> None:
        while not over.is_set():
            try:
                run = Run.load(out)
                if number == 0 and run.risks.criterion.norm not in reported:
                    write_report([run], tmp_path / "report.html")
                    reported.add(run.risks.criterion.norm)
            except RunError as error:
                known = ("not finished", "no such run folder", "no run.json")
                if not any(text in str(error) for text in known):
                    wrong.append(error)
            except BaseException as error:
                wrong.append(error)
            else:
                seen.append(run.risks.criterion.norm)
                if run.risks.to_dict()["summary"] != run.record.to_dict()["summary"]:
                    wrong.append(AssertionError("a table of another measurement"))

    readers = [threading.Thread(target=read, args=(i,)) for i in range(10)]
    for reader in readers:
        reader.start()
    try:
        audit(MODEL, out=out, **SMALL)
        for norm in (1.0, np.inf):
            settings = replace(SMALL["settings"], criterion=f"ratio:{norm}")
            audit(MODEL, out=out, **{**SMALL, "settings": settings})
            until(lambda wanted=norm: wrong or seen[-1:] == [wanted])  # type: ignore[misc]  # mypy infers no lambda with a default
        audit(MODEL, out=out, fresh=True, **SMALL)
        before = len(seen)
        until(lambda: wrong or len(seen) > before)
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not wrong, wrong[:3]
    assert set(seen) == {1.0, np.inf}
    assert reported
