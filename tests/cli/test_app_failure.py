"""How failures end the program: exit status, one line, and the log of what nobody expected."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import Clinometer
from torch import OutOfMemoryError

from clinometer.cli import app as failure

SECRET = "sk-a-key-or-a-prompt"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path))
    return tmp_path / "errors"


def break_topics(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let `clinometer list topics` fail."""

    def fail() -> None:
        raise error

    monkeypatch.setattr("clinometer.topics.builtin_topics", fail)


@pytest.mark.parametrize(
    "error",
    [RuntimeError(SECRET), EOFError(SECRET), OSError(28, "No space left on device", SECRET)],
    ids=lambda error: type(error).__name__,
)
def test_an_unexpected_error_is_status_70_one_line_and_a_log(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    break_topics(monkeypatch, error)
    result = clinometer("list", "topics")
    (log,) = logs.iterdir()
    assert result.status == 70
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.startswith(f"clinometer: unexpected {type(error).__name__}")
    assert "in cli/lists.py:" in result.err
    assert str(log) in result.err
    assert SECRET not in result.err
    text = log.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "topics_command" in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("error", [MemoryError(SECRET), OutOfMemoryError(SECRET)])
def test_memory_that_ran_out_is_no_bug(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """numpy's error is one of Python's; a GPU's is torch's."""
    break_topics(monkeypatch, error)
    result = clinometer("list", "topics")
    assert result.status == 3
    assert result.err == (
        "clinometer: memory ran out; free some and rerun the same command to resume\n"
    )
    assert not logs.exists()


def test_only_the_newest_logs_are_kept(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure, "KEPT_LOGS", 2)
    logs.mkdir()
    for year in (2001, 2002, 2003):
        (logs / f"{year}0101T000000-abcd.log").touch()
    break_topics(monkeypatch, RuntimeError())
    assert clinometer("list", "topics").status == 70
    old, new = sorted(logs.iterdir())
    assert old.name.startswith("2003")
    assert new.stat().st_size > 0


def test_without_a_log_folder_the_line_suggests_debug(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.touch()  # a file where the folder should be
    break_topics(monkeypatch, RuntimeError())
    result = clinometer("list", "topics")
    assert result.status == 70
    assert result.err.endswith("rerun with --debug for a traceback\n")


def test_debug_shows_the_traceback_of_an_unexpected_error(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_topics(monkeypatch, RuntimeError("the details"))
    result = clinometer("list", "topics", "--debug")
    assert result.status == 70
    assert "RuntimeError: the details" in result.err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_closed_pipe_is_not_a_failed_threshold(form: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "clinometer", "list", "topics", *form],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_writing_to_a_folder_is_one_line(
    clinometer: Clinometer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--groups", "nurse,pilot", "--max-contexts", 5, "--out", tmp_path / "run")
    assert clinometer("audit", "reference:random", *few).status == 0
    monkeypatch.chdir(tmp_path)
    result = clinometer("report", "run", "--out", ".")
    assert result.status == 2
    said = "clinometer: .: expected a file to write, found a folder; name a file in it\n"
    assert result.err == said
