"""Write docs/cli.md from the commands themselves: python docs/build_cli.py

A test fails when the page and the commands differ.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from clinometer.cli.app import load_command
from clinometer.cli.commands import COMMANDS
from clinometer.cli.failures import STATUSES
from clinometer.cli.help import default_text, keys_of, paragraphs

PAGE = Path(__file__).parent / "cli.md"
EXAMPLES = Path(__file__).parent / "command_examples.toml"


def page() -> str:
    """The reference of every command and option."""
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
    for name, command in _commands(COMMANDS):
        lines += ["", f"## clinometer {name}", "", paragraphs(command.help).strip(), ""]
        if name in examples:
            lines += ["```sh", examples[name], "```", ""]
        lines += ["| argument or option | meaning | default |", "|---|---|---|"]
        shown = [p for p in command.params if p.name != "help"]
        for parameter in sorted(shown, key=lambda p: getattr(p, "hidden", False)):
            lines.append(_row(parameter))
            keys = keys_of(parameter) if parameter.param_type_name == "option" else []
            lines += [
                f"| `{name}=` | {help} | {default} |" for name, help, default in keys
            ]
    return "\n".join(lines) + "\n"


def _commands(table, prefix=""):  # type: ignore[no-untyped-def]
    """Every command with its whole name, in the order of the list: (study factors, command)."""
    for name, (place, _) in table.items():
        if isinstance(place, str):
            yield prefix + name, load_command(name, place)
        else:
            yield from _commands(place, f"{prefix}{name} ")


def _row(parameter) -> str:  # type: ignore[no-untyped-def]
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        name = ", ".join(parameter.opts)
    meaning = " ".join((parameter.help or "").split()).replace("|", "\\|")
    return f"| `{name}` | {meaning} | {default_text(parameter)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
