"""Databases of both kinds, and the real command serving on a real port."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.private_postgres import private_postgres

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """A private PostgreSQL; each call gives the URL of a new database."""
    with private_postgres() as fresh:
        yield fresh


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for judgements, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "judgements.sqlite")
    return str(request.getfixturevalue("postgres")())


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Twenty statements; the first is hostile."""
    path = tmp_path / "statements.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "sentence", "sentence_merged", "context_points"])
        writer.writerow(["h", "A", f"(a | b) {HOSTILE}", f"The ___ {HOSTILE} \u202e___."])
        for i in range(1, 20):
            pair = f"(Women | Men) number {i} are late."
            points = f"(Women | Men) number {i} ___ are late ___."
            writer.writerow([f"s{i}", f"Women number {i} are late.", pair, points])
    return path


class Served:
    """`tiltmeter annotate` in a process of its own, that can be killed and started again."""

    def __init__(self, dataset: Path, *options: object, port: int = 0) -> None:
        self.command = [
            sys.executable,
            "-c",
            "from tiltmeter.cli import main; main()",
            "annotate",
            str(dataset),
            *map(str, options),
        ]
        self.port = port
        self.links: list[str] = []
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*self.command, "--port", str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.links = []
        for line in self.process.stdout:
            self.links += re.findall(r"http\S+", line)
            if line.startswith("Ctrl+C"):
                break
        assert self.links, "the command did not start"
        self.base = self.links[0].split("/?")[0]
        self.port = int(self.base.rsplit(":", 1)[1])
        for _ in range(200):
            try:
                httpx.get(self.base + "/static/annotate.css")
                return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the server does not listen")

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is said goodbye to."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def run(self, *more: object) -> str:
        """The same command with other options, to its end."""
        done = subprocess.run(
            [*self.command, *map(str, more)], capture_output=True, text=True, check=True
        )
        return done.stdout

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
