"""Commands are imported when they are called, and listed without."""

from __future__ import annotations

import subprocess
import sys

import pytest


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


@pytest.mark.parametrize("arguments", [["--help"], ["study", "--help"], ["--version"]])
def test_the_list_of_commands_imports_none_of_them(arguments: list[str]) -> None:
    modules = modules_after(*arguments)
    assert not {"numpy", "clinometer.runs", "clinometer.measure"} & modules
    ours = {name for name in modules if name.startswith("clinometer.cli.")}
    assert ours <= {"clinometer.cli.app", "clinometer.cli.help", "clinometer.cli.printing"}


def test_the_list_of_models_loads_no_library_of_models() -> None:
    assert not {"torch", "transformers", "scipy", "pandas"} & modules_after("list", "models")
