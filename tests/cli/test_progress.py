"""Signs of life: plain lines by an injected clock, a bar on a terminal, interruption."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from tests.processes import ROOT, python, until

from clinometer.cli import progress as module
from clinometer.cli.progress import Watch, progress


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(module, "FIRST_S", 2.0)
    return Clock()


def test_a_plain_line_appears_soon_and_then_every_30_seconds(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch("smollm2", unit="cells", start="loading smollm2", clock=clock)
    stream = io.StringIO()

    def passing() -> Iterator[bool]:
        """What the command reports while the thread waits for its next line."""
        yield False
        yield False
        clock.now = 1040
        watch(
            200, 1200
        )  # 200 of an earlier attempt: they say nothing about this one's speed
        clock.now = 1060
        watch(400, 1200)
        yield False
        watch(1200, 1200)
        yield False

    reports = passing()

    class Waited(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            end = clock.now + (timeout or 0.0)
            ended = next(reports, True)
            clock.now = end
            return ended

    waits = SimpleNamespace(Event=Waited, Thread=threading.Thread)
    monkeypatch.setattr(module, "threading", waits)
    with module._lines(watch, stream):
        pass
    *lines, last = stream.getvalue().splitlines()
    assert lines == [
        "loading smollm2 (2 s so far)",
        "loading smollm2 (32 s so far)",
        "smollm2: 33 % (400 of 1,200 cells), 9.09 cells/s, about 88 s left",
    ]
    assert last.startswith("smollm2: 100 % (1,200 of 1,200 cells)")
    assert "left" not in last


def test_stages_have_their_own_units_and_may_lack_a_total(clock: Clock) -> None:
    watch = Watch("mining", unit="articles", start="loading the parser", clock=clock)
    watch.stage("reading", "articles", 0, None)
    clock.now += 10
    watch.stage("reading", "articles", 500, None)
    assert watch.line() == "reading: 500 articles, 50 articles/s"
    assert watch.count.startswith("500 articles, 50 ")
    watch.stage("parsing", "pieces", 3, 12)
    assert watch.line() == "parsing: 25 % (3 of 12 pieces)"
    assert watch.count.startswith("3/12 ")


def test_the_thread_writes_and_ends_with_the_block(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Jupyter sets FORCE_COLOR, by which rich takes a pipe for a terminal: no bar all the same."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(module, "FIRST_S", 0.0)
    written = threading.Event()
    line = Watch.line

    def noticed(self: Watch) -> str:
        written.set()
        return line(self)

    monkeypatch.setattr(Watch, "line", noticed)
    with progress("model"):
        assert written.wait(60)
    said = capsys.readouterr().err
    assert "loading model" in said
    assert "\x1b" not in said
    assert not [t for t in threading.enumerate() if t.name == "progress"]


@pytest.mark.parametrize("kept", [True, False])
def test_an_interruption_says_where_the_work_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: bool
) -> None:
    def command() -> None:
        with progress("m", unit="texts", kept=tmp_path if kept else None) as watch:
            watch(512, 1200)
            raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as stop:
        command()
    assert stop.value.exit_code == 130
    said = f"stored in {tmp_path}; rerun" if kept else "nothing was stored"
    assert said in capsys.readouterr().err


def test_on_a_terminal_a_bar_says_loading_and_never_0_of_unknown() -> None:
    code = (
        "from clinometer.cli.progress import progress\n"
        "with progress('smollm2') as watch:\n    pass\n"
        "with progress('smollm2') as watch:\n    watch(3, 1200)\n"
    )
    spawn = "import pty, sys; pty.spawn([sys.executable, '-c', sys.argv[1]])"
    shown = python(
        spawn, code, env={**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    ).stdout
    assert "loading smollm2" in shown
    assert "3/1,200" in shown
    assert "0/?" not in shown


# --- the real thing ----------------------------------------------------------------------------


def test_ctrl_c_during_an_audit_says_where_its_cells_are(tmp_path: Path) -> None:
    folder = Path("runs/pocket-gpt2-s-gender-wikipedia-gender")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CLINOMETER_CACHE_LIMIT": "0"}
    audit = ("audit", "pocket:gpt2-s", "--contexts", "wikipedia")
    process = subprocess.Popen(
        [sys.executable, "-m", "clinometer", *audit],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    scored = (tmp_path / folder / "scores").glob
    until(
        lambda: any(scored("part-*.parquet")),
        alive=lambda: process.poll() is None,
        every=0.01,
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    told = [line for line in err.splitlines() if line.startswith("clinometer: ")]
    assert told == [
        f"clinometer: interrupted; what was done is stored in {folder}; rerun the same command to "
        "resume"
    ]
