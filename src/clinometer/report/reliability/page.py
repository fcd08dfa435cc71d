"""Reliability runs as one HTML page: a single file, no request, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from clinometer import __version__
from clinometer.reliability.scoring.folder import ReliabilityFolder
from clinometer.reliability.scoring.result import ReliabilityRun
from clinometer.report.export import write_files
from clinometer.report.page import environment, script, source_hash, stylesheet
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
    return (
        environment()
        .get_template("reliability.html")
        .render(
            story=reliability_story(runs),
            made=datetime.now(UTC).strftime("%-d %B %Y"),
            version=__version__,
            css=stylesheet(),
            scripts=[script()],
            script_hashes=[source_hash(script())],
        )
    )


def write_reliability_report(runs: Sequence[ReliabilityRun], out: Path) -> None:
    """Write the page; it appears whole or not at all."""
    write_files({out: render_reliability(runs).encode("utf-8")})
