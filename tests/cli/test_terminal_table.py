"""Tables of the command line lose nothing, however narrow the screen."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from tests.command import Clinometer

from clinometer.cli import printing
from clinometer.cli.terminal_table import TerminalTable


def printed(table: TerminalTable, width: int) -> str:
    stream = io.StringIO()
    table.print(Console(file=stream, width=width))
    return stream.getvalue()


EXAMPLE = TerminalTable(
    "Differences",
    ["pair", "group", "difference", "interval"],
    [
        ("A − B", "a group of several words", "+0.123", "+0.045 to +0.201"),
        (
            "organisation/a-model-with-a-long-name",
            "nurse",
            "-0.456",
            "-0.500 to -0.412",
        ),
        ("[bold]no markup[/bold]", "0.482\n0.455–0.507", "1", "2"),
    ],
    words=("pair", "group"),
    dim=[2],
)


@pytest.mark.parametrize("width", [200, 80, 60, 40, 20])
def test_numbers_and_words_are_never_cut(width: int) -> None:
    shown = printed(EXAMPLE, width)
    assert "…" not in shown
    for number in (
        "+0.123",
        "+0.045 to +0.201",
        "-0.456",
        "-0.500 to -0.412",
        "0.455–0.507",
    ):
        assert number in shown, number
    for word in (
        "organisation/a-model-with-a-long-name",
        "several",
        "[bold]no",
        "nurse",
    ):
        assert word in shown, word


def test_a_table_too_wide_for_the_terminal_is_stacked() -> None:
    assert "pair: A − B" not in printed(EXAMPLE, 200)
    stacked = printed(EXAMPLE, 40)
    assert "pair: A − B\n  group       a group of several words\n" in stacked
    assert "  interval    +0.045 to +0.201\n" in stacked


@pytest.mark.parametrize("columns", ["80", "50"])
@pytest.mark.parametrize("what", ["topics", "contexts", "models"])
def test_lists_are_printed_in_full(
    clinometer: Clinometer, what: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = set(clinometer("list", what).out.split())
    for row in json.loads(clinometer("list", what, "--json").out)[what]:
        for value in row.values():
            assert set(str(value).split()) <= shown


@pytest.mark.parametrize("width", [80, 40])
def test_no_word_is_broken_on_a_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    out = Console(file=stream, force_terminal=True, width=width, highlight=False)
    monkeypatch.setattr(printing, "console", lambda: out)
    address = "http://127.0.0.1:8765/?token=" + "x" * width
    commands = "clinometer report some run " * 6
    text = f"Kept in a folder. Next: {commands}{address}  (Ctrl+C stops it)"
    printing.sentence(text)
    lines = stream.getvalue().splitlines()
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())  # at spaces only
    assert all(len(line) <= width for line in lines if address not in line)
