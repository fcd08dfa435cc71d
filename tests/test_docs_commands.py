"""Every command of docs/commands.md runs as it stands there, in one folder, in that order.

Nothing is left out. What is changed, and why:

- models are asked about few groups (`--groups`): the questions are the same, only fewer; the
  slower ones, and a server, which is asked word by word, also with a coarse `--tolerance`;
- the server of the page is a llama.cpp server that the test starts, with the embedded model;
- `view` and `annotate` serve pages until they are ended: the test fetches a page and ends them.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import httpx
import pytest
from tests.command import OCCUPATIONS, Clinometer
from tests.processes import ROOT, serving

FEWER = {
    "runs/smollm2": ("--groups", OCCUPATIONS, "--tolerance", "0.1"),
    "runs/pocket": ("--groups", OCCUPATIONS),
    "runs/served": ("--groups", "nurse", "--tolerance", "0.1"),
    "runs/race": ("--groups", "nurse", "--tolerance", "0.1"),
    "study size": ("--max-contexts", "2"),
}


def commands(page: str = "commands.md") -> list[list[str]]:
    """The lines of the block, without comments; `;` ends a command."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    block = text.split("```sh\n")[1].split("```")[0]
    lines = [re.sub(r"\s#.*", "", line) for line in block.splitlines()]
    return [shlex.split(part) for line in lines for part in line.split(" ; ")]


def named(words: list[str]) -> str:
    """What FEWER calls a command: its run folder, or its name."""
    return (
        words[words.index("--out") + 1] if words[1] == "audit" else " ".join(words[1:3])
    )


def fetch_a_page(words: list[str]) -> None:
    """Start a command that serves pages, and look at one."""
    quiet = ["--no-browser"] if words[1] == "view" else []
    command = [sys.executable, "-m", "clinometer", *words[1:], "--port", "0", *quiet]
    with serving(
        command, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ) as address:
        assert httpx.get(address, follow_redirects=True, timeout=120).status_code == 200


def test_every_command_of_the_page_runs(
    clinometer: Clinometer, server: str, folder: Path
) -> None:
    for words in commands():
        if "view" in words or "annotate" in words:
            fetch_a_page(words)
            continue
        given = [
            re.sub(r"http://127\.0\.0\.1:8080", server, shown)
            for word in words[1:]
            # as the shell does
            for shown in (
                sorted(map(str, Path().glob(word))) if "*" in word else [word]
            )
        ]
        result = clinometer(*given, *FEWER.get(named(words), ()))
        assert result.status == 0, (words, result.err)
        assert result.out, words
    assert (folder / "report.html").is_file()
    assert (folder / "contexts.csv").is_file()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", ["auditors-day", "engineers-day"])
def test_a_day_leads_to_its_sentence_in_five_commands(
    page: str, clinometer: Clinometer
) -> None:
    """From an empty folder; what the page quotes is what a command says."""
    steps, said = commands(f"tutorials/{page}.md"), ""
    assert len(steps) <= 5
    for words in steps:
        result = clinometer(*words[1:])
        assert result.status in (0, 1, 3), (words, result.err)
        said += result.out
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    quoted = [
        line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")
    ]
    assert quoted
    assert all("".join(line.split()) in "".join(said.split()) for line in quoted)
