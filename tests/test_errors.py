"""Every error of ours: its one line, and the exit statuses.

The messages are read from the source, so that a message nobody has triggered yet is checked too.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from clinometer import errors
from clinometer.errors import ClinometerError
from clinometer.models.client import failures

ROOT = Path(__file__).resolve().parents[1]
#: Our classes by name; some are defined where they are raised.
OURS: dict[str, type[ClinometerError]] = {
    kind.__name__: kind
    for module in (errors, failures)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, ClinometerError)
}


def message_of(node: ast.expr) -> str:
    """A message as far as it is written in the source, with {} for what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(message_of, node.values))
    if isinstance(node, ast.BinOp):
        return message_of(node.left) + message_of(node.right)
    return message_of(node.body) if isinstance(node, ast.IfExp) else "{}"


def test_every_message_is_one_line() -> None:
    checked, wrong = 0, []
    for file in (ROOT / "src" / "clinometer").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            name = ast.unparse(node.exc.func).rpartition(".")[2]
            if node.exc.args and (
                name in OURS or name == "error"
            ):  # the caller's class
                checked += 1
                message = message_of(node.exc.args[0])
                if "\n" in message or message.endswith((".", " ")):
                    wrong.append(f"{file}:{node.lineno}: {message}")
    assert checked
    assert wrong == []


def test_exit_statuses_are_in_the_docs() -> None:
    """Every class ends with a status of the table in docs/cli.md, and the tree shows it."""
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    table = set(re.findall(r"^\| (\d+) \| .+? \|$", page, re.M))
    statuses = {str(kind.exit_status) for kind in OURS.values()}
    assert statuses == {"2", "3"} <= table
    assert table == {"0", "1", "2", "3", "70", "130", "141", "143"}
    shown = re.findall(
        r"(\w+) {2,}.+?(?:exit status (\d))?$", errors.__doc__ or "", re.MULTILINE
    )
    here = {name for name, kind in OURS.items() if kind.__module__ == errors.__name__}
    assert {name for name, _ in shown} == here - {"ClinometerError"}
    for name, status in shown:
        assert status in ("", str(OURS[name].exit_status)), name
