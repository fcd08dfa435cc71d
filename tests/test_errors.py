"""Every `raise` of the package: its class and its one line; and the exit statuses.

The messages are read from the source, so that a message nobody has triggered yet is checked too.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clinometer import errors
from clinometer.errors import ClinometerError

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "clinometer"

#: What is caught inside the package, or shows a mistake of ours, by the file that raises it.
INSIDE = {
    "AssertionError": {"gate/decision.py", "models/client.py"},
    "AttributeError": {"__init__.py"},
    "BrokenPipeError": {"cli/printing.py"},
    "EOFError": {"contexts/mining/corpora.py", "storage/untrusted.py"},
    "HTTPException": {
        "web/annotation/pages.py",
        "web/app.py",
        "web/viewer.py",
    },
    "IsADirectoryError": {"storage/untrusted.py"},
    "OSError": {"contexts/mining/corpora.py", "storage/untrusted.py"},
    "RuntimeError": {
        "contexts/mining/run.py",
        "models/background.py",
        "models/client.py",
    },
    "SystemExit": {"cli/app.py"},
    "TypeError": {"cli/options.py", "models/replies.py", "statistics/arrays.py"},
    "ValueError": {
        "bridges/mapping.py",
        "cli/printing.py",
        "models/catalog/pretrained.py",
        "models/local/seq2seq.py",
        "models/local/base.py",
        "models/local/steer.py",
        "storage/untrusted.py",
    },
}


@dataclass(frozen=True)
class Raise:
    """One `raise`: its class, and its message with {} for what is filled in (None: not written)."""

    where: str
    name: str
    message: str | None


def every_raise() -> Iterator[Raise]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                where = f"{file.relative_to(SOURCE)}:{node.lineno}"
                name = ast.unparse(node.exc.func).rpartition(".")[2]
                message = _text(node.exc.args[0]) if node.exc.args else None
                yield Raise(where, name, message)


def _text(node: ast.expr) -> str | None:
    """A message as far as it is written in the source."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    if isinstance(node, ast.BinOp):
        parts = (_text(node.left), _text(node.right))
        return "".join("{}" if part is None else part for part in parts)
    if isinstance(node, ast.IfExp):
        return _text(node.body)
    return None


def ours() -> dict[str, type[ClinometerError]]:
    for file in SOURCE.rglob("*.py"):  # some are defined where they are raised
        if re.search(
            r"^class \w+\((?:\w+Error|ModelNotFound|InputError)\)", file.read_text("utf-8"), re.M
        ):
            importlib.import_module(".".join(file.relative_to(SOURCE.parent).with_suffix("").parts))
    return {kind.__name__: kind for kind in _below(ClinometerError)}


def _below(kind: type[ClinometerError]) -> Iterator[type[ClinometerError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _below(one)


RAISES = list(every_raise())
OURS = ours()


def test_every_class_is_ours_or_stays_inside() -> None:
    assert RAISES
    builtin = {n for n in INSIDE if n != "HTTPException"}
    strange = [
        f"{one.where}: {one.name}"
        for one in RAISES
        if (one.name in builtin or one.name.endswith(("Error", "Exception")))
        and one.name not in OURS
        and one.where.partition(":")[0] not in INSIDE.get(one.name, set())
        and not _defined_here(one)
    ]
    assert strange == []


def _defined_here(one: Raise) -> bool:
    """Whether the class is private to its module or package, where it is caught."""
    pattern = re.compile(rf"^\s*class {re.escape(one.name)}\(", re.MULTILINE)
    folder = (SOURCE / one.where.partition(":")[0]).parent
    return any(pattern.search(file.read_text("utf-8")) for file in folder.rglob("*.py")) or (
        one.name in {"error"}  # the caller's class, one of ours
    )


def test_every_message_is_one_line() -> None:
    wrong = [
        f"{one.where}: {one.message}"
        for one in RAISES
        if (one.name in OURS or one.name == "error") and one.message
        if "\n" in one.message or one.message.endswith((".", " "))
    ]
    assert wrong == []


def test_exit_statuses_are_in_the_docs() -> None:
    """Every class ends with a status of the table in docs/cli.md, and the tree shows it."""
    table = dict(
        re.findall(r"^\| (\d+) \| (.+?) \|$", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.M)
    )
    statuses = {kind.exit_status for kind in OURS.values()}
    assert {str(status) for status in statuses} == {"2", "3"} <= set(table)
    assert {"0", "1", "2", "3", "70", "130", "141", "143"} == set(table)
    tree = errors.__doc__ or ""
    shown = re.findall(r"(\w+) {2,}.+?(?:exit status (\d))?$", tree, re.MULTILINE)
    here = {name for name, kind in OURS.items() if kind.__module__ == errors.__name__}
    assert {name for name, _ in shown} == here - {"ClinometerError"}
    for name, status in shown:
        assert status in ("", str(OURS[name].exit_status)), name
