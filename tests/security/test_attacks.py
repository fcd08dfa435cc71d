"""The list of attacks is the suite's own: every test belongs to one, and every one has tests."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest
from tests.present import loaded

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return loaded(ROOT / "tools" / "attacks.py")


def names_in(file: str) -> list[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f"{file}::{name}" for name in names if name.startswith("test_")]


def test_every_attack_has_tests_and_every_test_an_attack(tool: ModuleType) -> None:
    known = tool.attacks()
    named = [test for one in known for test in one.tests]
    for test in named:
        assert any(found.startswith(test) for found in names_in(test.partition("::")[0])), test
    files = sorted(p.relative_to(ROOT).as_posix() for p in Path(__file__).parent.glob("test_*.py"))
    ours = [test for file in files for test in names_in(file)]
    strays = [t for t in ours if not t.startswith(tool.APART) and not t.startswith(tuple(named))]
    assert strays == []


def test_a_case_counts_once_and_a_failure_is_counted(tool: ModuleType) -> None:
    nonsense = "tests/security/test_files.py::test_nonsense_is_one_line"
    cases = [f"{nonsense}[deep list-topic-.toml]", f"{nonsense}[empty-topic-.toml]"]
    known = tool.attacks()
    have = [next(one.what for one in known if one.has(case)) for case in cases]
    assert have[0].startswith("deep JSON")
    assert have[1].startswith("empty files")
    with pytest.raises(SystemExit, match="test_new: expected an attack"):
        tool.sorted_out(["tests/security/test_files.py::test_new"])
    faults = [
        {"results": {"audit, eio: resumed": 3}, "broken": ["7 mining, eio: other results: x"]},
        {"results": {"annotation: all answers kept": 2}, "broken": []},
    ]
    assert tool.struck(faults) == [("annotation", 2, 0), ("eio", 4, 1)]
