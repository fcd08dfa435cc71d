"""Continuous integration runs what a developer runs, on every Python that we support."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_workflow_runs_the_script_that_a_developer_runs() -> None:
    assert re.findall(r"run: (.*\.ci.*)", WORKFLOW) == ["PYTHON=python bash .ci/run"]


def test_every_supported_python_is_tested() -> None:
    supported = set(re.findall(r"SUPPORTED := (.*)", MAKEFILE)[0].split())
    assert set(re.findall(r'"(3\.\d+)"', WORKFLOW)) == supported
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    classifiers = " ".join(project["project"]["classifiers"])
    assert set(re.findall(r"Python :: (3\.\d+)", classifiers)) == supported


def test_the_script_runs_every_suite_of_the_makefile() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    suites = set(re.findall(r"^(test[\w-]*|check|docs):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"^make ([\w-]+)$", script, re.MULTILINE)) == suites
