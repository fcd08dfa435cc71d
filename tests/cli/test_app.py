"""Every command: help that fits a screen, errors of one line, lazy imports; and how failures end
the program."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import Clinometer, Result, every_command, refused
from tests.preferences import write_shares
from tests.processes import python
from torch import OutOfMemoryError
from typer.core import TyperArgument, TyperOption

from clinometer.cli import failures
from clinometer.cli.commands import COMMANDS

EVERY = dict(every_command())
GROUPS = [
    (),
    *((name,) for name, (place, _) in COMMANDS.items() if not isinstance(place, str)),
]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def lines(text: str) -> list[str]:
    """What is printed, without the empty lines at both ends."""
    return text.strip().splitlines()


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_help_that_fits_a_screen_and_so_has_every_option(
    clinometer: Clinometer, path: tuple[str, ...]
) -> None:
    shown = lines(clinometer(*path, "--help").out)
    assert len(shown) <= 50
    assert max(map(len, shown)) <= 80
    result = clinometer(*path, "--help-all")
    assert result.status == 0
    assert "Usage" in result.out
    for parameter in EVERY[path].params:
        assert isinstance(parameter, TyperArgument | TyperOption)
        assert parameter.help, f"{path} {parameter.name} has no help"
        assert isinstance(parameter, TyperArgument) or parameter.opts[0] in result.out


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    "path", GROUPS, ids=lambda path: " ".join(path) or "clinometer"
)
def test_a_list_of_commands_fits_a_screen(
    clinometer: Clinometer, path: tuple[str, ...]
) -> None:
    shown = lines(clinometer(*path, "--help").out)
    assert len(shown) <= 40
    assert max(map(len, shown)) <= 80
    commands = COMMANDS
    for name in path:
        inner = commands[name][0]
        assert not isinstance(inner, str)
        commands = inner
    for name, (_, line) in commands.items():
        row = rf"│ {re.escape(name)} +{re.escape(line)} +│"
        assert any(re.fullmatch(row, text) for text in shown), (
            f"{name}: more than one line"
        )


@pytest.mark.usefixtures("narrow")
def test_what_few_people_need_is_listed_by_help_all(clinometer: Clinometer) -> None:
    short, whole = (
        clinometer("audit", option).out for option in ("--help", "--help-all")
    )
    hidden = {p.opts[0] for p in EVERY["audit",].params if getattr(p, "hidden", False)}
    assert hidden
    assert f"--help-all shows {len(hidden)} more options" in short
    assert "--help-all" not in whole
    for option in hidden:
        assert f"{option} " not in short
        assert f"{option} " in whole
    assert "Servers" in whole


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "table", "TABLE", "--criterion", "ratio:0.5"),
        ("list", "topics", "gendre"),
        ("list", "contexts", "no-such-set"),
        ("list", "models", "./no-such-folder"),
        ("audit", "reference:random", "--groups", "astronaut-nurse"),
        ("audit", "reference:random", "--device", "toaster"),
        ("audit", "reference:random", "--tolerance", "0.9"),
        ("audit", "reference:random", "--clusters", "no-such-column"),
        (
            "audit",
            "reference:random",
            "--topic",
            "gender-zh",
            "--contexts",
            "paper-gender",
        ),
        ("import", "table", "TABLE", "--clusters", "no-such-column"),
        ("audit", "reference:random", "reference:random"),
        ("audit",),
    ],
    ids=" ".join,
)
def test_wrong_input_is_one_line_and_status_2(
    clinometer: Clinometer, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    table = write_shares(tmp_path / "table.csv", [0.5, 0.35, 0.65])
    result = clinometer(*(table if a == "TABLE" else a for a in arguments))
    refused(result)
    assert result.err.startswith("clinometer: ")
    assert result.out == ""


def test_debug_works_in_any_position(clinometer: Clinometer) -> None:
    result = clinometer("import", "table", "no-such.csv", "--debug")
    assert result.status == 2
    assert result.err.startswith("Traceback")
    assert result.err.endswith(
        "clinometer: no-such.csv: no such file; check the path\n"
    )


def test_context_sets_that_are_too_small_to_measure_with_are_marked(
    clinometer: Clinometer,
) -> None:
    rows = json.loads(clinometer("list", "contexts", "--json").out)["contexts"]
    small = {row["name"] for row in rows if row["size"] == "too small"}
    assert small == {row["name"] for row in rows if row["n_eff"] < 30}
    assert {"paper-gender", "conversation-gender", "conversation-race"} <= small
    assert "Too small: fewer than 30" in clinometer("list", "contexts").out


def test_one_model_that_fails_does_not_stop_the_others(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    models = ("./no-such-folder", "reference:random")
    result = clinometer("audit", *models, "--out", tmp_path, "--json")
    assert result.status == 2
    found = json.loads(result.out)
    assert [run["model"] for run in found["runs"]] == ["reference:random"]
    assert [f["model"] for f in found["failed"]] == ["./no-such-folder"]
    errors = [
        line for line in result.err.splitlines() if line.startswith("clinometer: ")
    ]
    assert len(errors) == 1


SECRET = "sk-a-key-or-a-prompt"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path))
    return tmp_path / "errors"


def broken(
    clinometer: Clinometer, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> Result:
    """What `clinometer list topics` gives if it fails."""

    def fail() -> None:
        raise error

    monkeypatch.setattr("clinometer.cli.lists.builtin_topics", fail)
    return clinometer("list", "topics")


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        EOFError(SECRET),
        OSError(28, "No space left on device", SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_unexpected_error_is_status_70_one_line_and_a_log(
    clinometer: Clinometer,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    result = broken(clinometer, monkeypatch, error)
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
    assert "_topics" in text
    assert type(error).__name__ in text
    assert SECRET not in text  # an error may quote a reply, and logs are sent to others
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("error", [MemoryError(SECRET), OutOfMemoryError(SECRET)])
def test_memory_that_ran_out_is_no_bug(
    clinometer: Clinometer,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    """numpy's error is one of Python's; a GPU's is torch's."""
    result = broken(clinometer, monkeypatch, error)
    assert result.status == 3
    said = (
        "clinometer: memory ran out; free some and rerun the same command to resume\n"
    )
    assert result.err == said
    assert not logs.exists()


def test_only_the_newest_logs_are_kept(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "MOST_LOGS", 2)
    logs.mkdir()
    for year in (2001, 2002, 2003):
        (logs / f"{year}0101T000000-abcd.log").touch()
    assert broken(clinometer, monkeypatch, RuntimeError()).status == 70
    old, new = sorted(logs.iterdir())
    assert old.name.startswith("2003")
    assert new.stat().st_size > 0


def test_without_a_log_folder_the_line_suggests_debug(
    clinometer: Clinometer, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.touch()  # a file where the folder should be
    result = broken(clinometer, monkeypatch, RuntimeError())
    assert result.status == 70
    assert result.err.endswith("rerun with --debug for a traceback\n")


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


@pytest.mark.usefixtures("folder")
def test_writing_to_a_folder_is_one_line(clinometer: Clinometer) -> None:
    few = ("--groups", "nurse,pilot", "--max-contexts", 5, "--out", "run")
    assert clinometer("audit", "reference:random", *few).status == 0
    result = clinometer("report", "run", "--out", ".")
    refused(
        result,
        "clinometer: .: expected a file to write, found a folder; name a file in it",
    )


def modules_after(*arguments: str) -> set[str]:
    code = (
        "import sys\nfrom clinometer.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit as end: status = end.code\n"
        "print('modules', *sys.modules); sys.exit(status)"
    )
    done = python(code, *arguments)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("modules ")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["study", "--help"], ["--version"]])
def test_the_list_of_commands_imports_none_of_them(arguments: list[str]) -> None:
    modules = modules_after(*arguments)
    assert not {"numpy", "clinometer.runs", "clinometer.measure"} & modules
    ours = {name for name in modules if name.startswith("clinometer.cli.")}
    light = ("app", "commands", "failures", "help", "printing", "terminal_table")
    assert ours <= {f"clinometer.cli.{name}" for name in light}


def test_the_list_of_models_loads_no_library_of_models() -> None:
    assert not {"torch", "transformers", "scipy", "pandas"} & modules_after(
        "list", "models"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that is full")
@pytest.mark.parametrize("command", ["list topics", "list topics --json", "--version"])
@pytest.mark.parametrize(
    ("place", "problem"),
    [(">/dev/full", "No space left on device"), (">&-", "it is closed")],
)
def test_output_that_cannot_be_written_is_one_line_and_a_status(
    command: str, place: str, problem: str
) -> None:
    program = f"{shlex.quote(sys.executable)} -m clinometer {command} {place}"
    ended = subprocess.run(
        ["/bin/sh", "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert ended.stderr == (
        f"clinometer: the output cannot be written: {problem}; rerun the same command and send "
        "its output elsewhere\n"
    )
    silent = subprocess.run(["/bin/sh", "-c", f"{program} 2>&-"], check=False)
    assert silent.returncode == 3
