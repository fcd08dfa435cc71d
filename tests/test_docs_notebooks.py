"""Every notebook in examples/ runs from its first cell to its last, as a reader would run it.

The cells are those of Jupyter: Python, `!` for a command of the shell, `%%writefile`. The kernel is
this file's, since a test should not need Jupyter; `make docs` runs the same cells in Jupyter's. The
gallery draws its charts from fewer contexts here.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.command import Clinometer

import clinometer as cm
from clinometer.errors import ClinometerError

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
_AUDIT = cm.audit


class Cell(NamedTuple):
    source: str
    fails: bool  # it shows an error on purpose


def cells(notebook: Path) -> Iterator[Cell]:
    """The code of a notebook."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tags = cell["metadata"].get("tags", [])
            yield Cell("".join(cell["source"]), "raises-exception" in tags)


def run_shell(line: str, names: dict[str, Any], clinometer: Clinometer) -> None:
    """`!line`: {expression} stands for its value; a command whose status is printed may fail.

    Our own commands run in this process, which has imported already what they need.
    """
    command = re.sub(r"\{(.+?)\}", lambda m: str(eval(m[1], names)), line)  # noqa: S307
    own = re.fullmatch(
        r"(clinometer [^;|<>&]*?)\s*(?:2?>\s*/dev/null)?\s*(; *echo .*)?",
        command.strip(),
    )
    if own is not None:
        result = clinometer(*shlex.split(own[1])[1:])
        assert result.status == 0 or own[2], f"{command}\n{result.out}\n{result.err}"
        return
    done = subprocess.run(  # noqa: S602
        command, shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def run_cell(source: str, names: dict[str, Any], clinometer: Clinometer) -> None:
    """One cell; what Jupyter would show of its last line is made, too."""
    if source.startswith("%%writefile "):
        head, _, body = source.partition("\n")
        Path(head.split()[1]).write_text(body, encoding="utf-8")
        return
    names["run_shell"] = lambda line: run_shell(line, names, clinometer)
    python = re.sub(
        r"^( *)!(.*)$",
        lambda m: f"{m[1]}run_shell({m[2]!r})",
        source.replace("\\\n", " "),
        flags=re.MULTILINE,
    )
    tree = ast.parse(python)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
        for form in ("_repr_html_", "_repr_mimebundle_"):
            if hasattr(shown, form):
                getattr(shown, form)()
                return
        repr(shown)


@pytest.fixture
def reader(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and this environment's commands."""
    here = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")


def smaller_audit(model: str, **settings: Any) -> cm.Run:
    """The same audit in at most ten contexts."""
    return _AUDIT(model, **settings | {"max_contexts": 10})


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, clinometer: Clinometer
) -> None:
    if notebook.stem == "gallery":
        monkeypatch.setattr(cm, "audit", smaller_audit, raising=False)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(notebook):
        if cell.fails:
            with pytest.raises(ClinometerError):
                run_cell(cell.source, names, clinometer)
        else:
            run_cell(cell.source, names, clinometer)


@pytest.mark.usefixtures("reader")
def test_a_broken_cell_fails(clinometer: Clinometer) -> None:
    names: dict[str, Any] = {"end": "txt"}
    run_cell("%%writefile here.txt\nfirst\n", names, clinometer)
    run_cell("name = 'there'\n!cp here.txt {name}.{end}", names, clinometer)
    assert Path("there.txt").read_text(encoding="utf-8") == "first\n"
    run_cell(
        "!clinometer import table nowhere.csv; echo 'exit status $?'", names, clinometer
    )
    for broken in (
        "!cp nowhere.txt x",
        "!clinometer import table nowhere.csv",
        "1 / 0",
        "unknown",
    ):
        with pytest.raises((AssertionError, ZeroDivisionError, NameError)):
            run_cell(broken, names, clinometer)
