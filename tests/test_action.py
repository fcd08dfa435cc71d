"""The GitHub Action: its script in a made environment, against a server that answers as GitHub."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.models.server.http import JsonHandler, Server
from tests.report.made import made_run

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tools" / "github_action.py"


class GitHub(Server):
    """Comments of one pull request, behind the addresses that the script uses."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.refuse = False

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        if self.refuse:
            return 403, {"message": "Resource not accessible by integration"}
        if method == "GET":
            page = int(path.rpartition("page=")[2])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if method == "POST":
            self.comments.append({"id": 1000 + len(self.comments), **body})
            return 201, self.comments[-1]
        (found,) = (c for c in self.comments if str(c["id"]) == path.rpartition("/")[2])
        found.update(body)
        return 200, found


class _Handler(JsonHandler):
    server: GitHub

    def get(self) -> None:
        self.post(b"null")

    def post(self, content: bytes) -> None:
        assert self.headers["Authorization"] == "Bearer made-token"
        self.send(*self.server.answer(self.command, self.path, json.loads(content)))

    do_PATCH = JsonHandler.do_POST  # noqa: N815


@pytest.fixture
def github(until_the_end: Callable[[GitHub], GitHub]) -> GitHub:
    return until_the_end(GitHub())


def step(
    folder: Path, github: GitHub, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """The step as GitHub runs it, for pull request 7."""
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}), encoding="utf-8")
    made = {
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": "some/project",
        "GITHUB_TOKEN": "made-token",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        **{f"CLINOMETER_{name}": value for name, value in inputs.items()},
    }
    return subprocess.run(
        [sys.executable, SCRIPT],
        cwd=folder,
        env={**os.environ, **made},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_audits_judges_and_keeps_one_comment(tmp_path: Path, github: GitHub) -> None:
    github.comments = [{"id": i, "body": f"someone said {i}"} for i in range(100)]
    few = {"TOPIC": "gender", "OPTIONS": "--groups 'nurse,cook'"}
    first = step(
        tmp_path, github, MODEL="reference:unbiased", RUN="base", BASELINE="base", **few
    )
    assert first.returncode == 0, first.stderr
    assert (
        "The answers are the same in every cell."
        in (tmp_path / "summary.md").read_text()
    )
    assert (tmp_path / "output").read_text() == "verdict=not worse\nrun=base\n"
    assert len(github.comments) == 101
    assert (
        "GET /repos/some/project/issues/7/comments?per_page=100&page=2" in github.asked
    )

    again = step(tmp_path, github, RUN="base", BASELINE="base", MARGIN="0.1")
    assert again.returncode == 0, again.stderr
    assert len(github.comments) == 101
    assert "PATCH /repos/some/project/issues/comments/1100" in github.asked
    assert "margin of 0.1 |" in github.comments[-1]["body"]


def test_worse_fails_and_a_refused_comment_does_not(
    tmp_path: Path, github: GitHub
) -> None:
    made_run(tmp_path / "base", groups=3, contexts=120, lean=0.3)
    made_run(tmp_path / "run", groups=3, contexts=120, lean=2.0, seed=1)
    github.refuse = True
    done = step(tmp_path, github, RUN="run", BASELINE="base", MEASURES="R R_bias")
    assert done.returncode == 1
    assert "::warning::the comment was not written (status 403)" in done.stdout
    assert "made-token" not in done.stdout + done.stderr
    assert "❌ worse" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_cannot_tell_can_pass_and_errors_are_errors(
    tmp_path: Path, github: GitHub
) -> None:
    made_run(tmp_path / "base", groups=3, contexts=120, lean=0.3)
    made_run(tmp_path / "run", groups=3, contexts=120, lean=2.0, seed=2)
    asked = {"RUN": "run", "BASELINE": "base", "MARGIN": "0.33", "COMMENT": "false"}
    passed = step(tmp_path, github, **asked, CANNOT_TELL="pass")
    assert passed.returncode == 0
    assert "::warning::clinometer gate: cannot tell" in passed.stdout
    assert github.asked == []
    wrong = step(tmp_path, github, RUN="run", BASELINE="nowhere")
    assert wrong.returncode == 2
    assert "no such run folder" in wrong.stderr
    assert step(tmp_path, github, CANNOT_TELL="maybe").returncode == 2


def test_the_action_hands_every_input_to_the_script() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    script = SCRIPT.read_text(encoding="utf-8")
    read = set(re.findall(r"_input\([\"'](\w+)", script))
    given = dict(re.findall(r"CLINOMETER_(\w+): \$\{\{ inputs\.([\w-]+) \}\}", text))
    assert set(given) == read
    declared = set(
        re.findall(r"^  ([\w-]+):\n    description", text.split("outputs:")[0], re.M)
    )
    assert declared == set(given.values()) | {"token", "install"}
    # An input inside the shell's text would be run by it.
    for line in re.findall(r"^ +run: (.*)$", text, re.M):
        assert "${{" not in line
