"""Commands are imported when they are called, and listed without."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.command import every_command

from clinometer.cli.app import ALL, Command, CommandGroup

COMMANDS = dict(every_command())


def listed(group: CommandGroup, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    found = {}
    for name, one in group.commands.items():
        if isinstance(one, Command):
            found[*path, name] = one.about
        else:
            found |= listed(one, (*path, name))
    return found


def modules_after(*arguments: str) -> set[str]:
    code = (
        "import sys\nfrom clinometer.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit as end: status = end.code\n"
        "print('modules', *sys.modules); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("modules ")[2].split())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_line_in_the_list_is_the_first_of_the_help(path: tuple[str, ...]) -> None:
    whole = COMMANDS[path].help or ""
    assert listed(ALL)[path] == " ".join(whole.split("\n\n")[0].split())


def test_every_listed_command_exists() -> None:
    assert listed(ALL).keys() == COMMANDS.keys()


@pytest.mark.parametrize("arguments", [["--help"], ["study", "--help"], ["--version"]])
def test_the_list_of_commands_imports_none_of_them(arguments: list[str]) -> None:
    modules = modules_after(*arguments)
    assert not {"numpy", "clinometer.runs", "clinometer.measure"} & modules
    ours = {name for name in modules if name.startswith("clinometer.cli.")}
    assert ours <= {
        f"clinometer.cli.{name}"
        for name in ("app", "failure", "lazy", "option", "printing", "table")
    }


def test_the_list_of_models_loads_no_library_of_models() -> None:
    assert not {"torch", "transformers", "scipy", "pandas"} & modules_after("models")
