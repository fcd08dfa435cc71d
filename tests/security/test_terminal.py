"""Names from elsewhere on the terminal: nothing moves the cursor, nothing is markup."""

from __future__ import annotations

import ast
import csv
import json
import os
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer, refused
from tests.present import present
from tests.processes import ROOT
from tests.report.made import made_run

import clinometer as package
from clinometer.cli.failures import STATUSES, report_failure
from clinometer.display.text import visible

#: Controls, surrogates, formats, separators of lines and paragraphs.
STEERING = ("Cc", "Cs", "Cf", "Zl", "Zp")
NAMES = {
    "title": "\x1b]0;owned\x07",
    "clear": "\x1b[2J\x1b[1;1H",
    "C1": "\x9b31m",
    "direction": "safe\u202eexe.gpj",
    "isolate": "\u2066\u2069",
    "no width": "a\u200bb\ufeff",
    "tags": "\U000e0041",
    "close": "[/close]",
    "link": "[link=https://example.org]x[/link]",
    "emoji": ":skull:",
    "backspace": "a\b\b\b\bb",
    "return": "good\rbad",
    "half": "\ud800",
}


def steers(text: str) -> list[str]:
    """Characters that a terminal would obey, or that change the order in which others are shown,
    by their Unicode categories and not by our own list."""
    kept = "\n\t\u200c\u200d"
    return [c for c in text if unicodedata.category(c) in STEERING and c not in kept]


def write_table(path: Path, name: str) -> Path:
    with path.open("w", encoding="utf-8", errors="surrogatepass", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["group", "context", "attribute", "p"])
        for group in (name, "other"):
            for context in ("a", "b", "c"):
                rows.writerow([group, context, "x", 0.25])
                rows.writerow([group, context, "y", 0.75])
    return path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_names_in_a_table(
    name: str, options: tuple[str, ...], clinometer: Clinometer, tmp_path: Path
) -> None:
    table = write_table(tmp_path / "t.csv", NAMES[name])
    result = clinometer("import", "table", table, *options)
    assert result.status in (0, 2)
    assert not steers(result.out + result.err)
    if result.status == 0 and not options and name in ("close", "link", "emoji"):
        assert NAMES[name] in result.out.replace("\n", "")
    if options and result.status == 0:
        json.loads(result.out)


@pytest.mark.parametrize("name", NAMES)
def test_names_in_errors(name: str, clinometer: Clinometer) -> None:
    path = f"./no/such/{NAMES[name]}"
    for command in (("audit", path), ("report", path), ("compare", path, path)):
        result = clinometer(*command)
        assert result.status == 2
        assert not steers(result.err)


def test_models_from_elsewhere_in_compare(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    for folder, model in (("a", "\x1b[31mred[/close]"), ("b", "plain")):
        made_run(tmp_path / folder, groups=3, contexts=4, model=model, seed=len(folder))
    result = clinometer("compare", tmp_path / "a", tmp_path / "b")
    assert result.status == 0
    assert "[U+001B][31mred[/close]" in result.out
    assert not steers(result.out)


def test_names_of_300_characters(clinometer: Clinometer, tmp_path: Path) -> None:
    long = "x" * 300
    for command in (
        ("audit", f"./{long}"),
        ("report", tmp_path / long),
        ("import", "table", tmp_path / f"{long}.csv"),
        ("audit", "reference:random", "--contexts", f"{long}.csv"),
        ("audit", "reference:random", "--topic", f"{long}.toml"),
        ("mine", tmp_path / long, "--out", tmp_path / "o.csv"),
    ):
        refused(clinometer(*command))


def test_only_one_place_prints() -> None:
    """Everything else goes through the console of `cli/printing.py`, `say` or `visible`."""
    allowed = {"printing.py", "progress.py"}
    prints = (
        "print(",
        "rich.print(",
        "Console(",
        "sys.stderr.write(",
        "sys.stdout.write(",
    )
    files = (Path(package.__file__).parent / "cli").rglob("*.py")
    code = [
        file.read_text(encoding="utf-8") for file in files if file.name not in allowed
    ]
    nodes = [node for text in code for node in ast.walk(ast.parse(text))]
    calls = [ast.unparse(node) for node in nodes if isinstance(node, ast.Call)]
    assert calls
    assert [c for c in calls if c.startswith(prints) and "visible(" not in c] == []


def test_an_error_of_the_disk_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = OSError(36, os.strerror(36), "\x1b[31m" + "x" * 300)
    assert report_failure(error, debug=False) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert not steers(err)
    assert len(err) < 200


def test_ctrl_c_outside_a_long_step_says_so() -> None:
    """A command that has no progress to show, interrupted while it works."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import clinometer.cli.imports as imports, clinometer.cli.app as app, sys, time\n"
        "def wait(*_, **__):\n    print('there', flush=True)\n    time.sleep(600)\n"
        "imports.measure_table = wait\n"
        "app.main(['import', 'table', 'x.csv'])\n"
    )
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, text=True, **pipes
    )
    assert present(process.stdout).readline() == "there\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert err == "clinometer: interrupted; rerun the same command to resume\n"
    assert process.returncode == 130
    assert 130 in STATUSES


def test_visible_keeps_what_people_write() -> None:
    for text in ("Grüße", "می‌خواهم", "नमस्ते", "日本", "a\nb\tc", "e\u0301", "👩‍🔬"):
        assert visible(text) == text
