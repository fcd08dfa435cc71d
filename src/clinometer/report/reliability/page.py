"""Reliability runs as one HTML page: a single file, no request, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clinometer.reliability.scoring.folder import ReliabilityFolder
from clinometer.reliability.scoring.result import ReliabilityRun
from clinometer.report.document import render_document, script
from clinometer.report.export import write_files
from clinometer.report.reliability.story import reliability_story
from clinometer.storage.untrusted import read_json


def is_reliability_run(path: Path) -> bool:
    """Whether a folder's record is that of a reliability run."""
    try:
        content = read_json(path / "run.json")
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == ReliabilityFolder.kind


def render_reliability(runs: Sequence[ReliabilityRun]) -> str:
    """The page as text."""
    story = reliability_story(runs)
    return render_document("reliability.html", scripts=[script()], story=story)


def write_reliability_report(runs: Sequence[ReliabilityRun], out: Path) -> None:
    """Write the page; it appears whole or not at all."""
    write_files({out: render_reliability(runs).encode("utf-8")})
