"""Write docs/cli.md from the commands themselves: python docs/build_cli.py

A test fails when the page and the commands differ.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import typer

from clinometer.cli.app import STATUSES, app

PAGE = Path(__file__).parent / "cli.md"
EXAMPLES = Path(__file__).parent / "command_examples.toml"


def page() -> str:
    """The reference of every command and option."""
    group = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        "Made from the commands by `python docs/build_cli.py`.",
        "",
        "An error is one line on stderr; `--debug` shows its traceback.",
        "",
        "| exit status | meaning |",
        "|---|---|",
        *(f"| {status} | {meaning} |" for status, meaning in STATUSES.items()),
    ]
    examples = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))
    for name, command in sorted(_commands(group, "")):
        lines += ["", f"## clinometer {name}", "", (command.help or "").strip(), ""]
        if name in examples:
            lines += ["```sh", examples[name], "```", ""]
        lines += ["| argument or option | meaning | default |", "|---|---|---|"]
        lines += [_row(p) for p in command.params if p.name != "help"]
    return "\n".join(lines) + "\n"


def _commands(group, prefix: str):  # type: ignore[no-untyped-def]
    """Every command with its whole name: (study factors, command)."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def _row(parameter) -> str:  # type: ignore[no-untyped-def]
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        name = ", ".join(parameter.opts)
    default = parameter.default
    hidden = default is None or default is False or parameter.required
    described = getattr(parameter, "show_default", None)
    shown = "" if hidden else str(default)
    if isinstance(described, str):
        shown = described
    meaning = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| `{name}` | {meaning} | {shown} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
