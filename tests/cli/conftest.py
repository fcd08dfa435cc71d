"""Run the command line in this process and look at what a user would see."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from tiltmeter.cli import main


class Result(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def tiltmeter(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Call it like the command: tiltmeter("risk", "table.csv")."""

    def run(*arguments: object) -> Result:
        status: int | str | None = 0
        try:
            main([str(a) for a in arguments])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        return Result(int(status or 0), captured.out, captured.err)

    return run
