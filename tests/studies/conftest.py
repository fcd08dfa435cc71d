"""One small real run for the studies."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.contexts import ContextSet
from clinometer.runs import AuditSettings, Run, audit
from clinometer.topics import load_topic

CONTEXTS = ContextSet(
    "few",
    [
        f"The [X] {verb} that [Y]"
        for verb in ("said", "felt", "wrote", "knew", "hoped", "added")
    ],
    [60, 30, 20, 15, 12, 10],
)


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pocket:gpt2-s about four occupations in six contexts."""
    out = tmp_path_factory.mktemp("studies") / "run"
    topic = load_topic("gender").select(["nurse", "engineer", "teacher", "ambassador"])
    settings = AuditSettings()
    audit("pocket:gpt2-s", topic=topic, contexts=CONTEXTS, out=out, settings=settings)
    return out


@pytest.fixture
def run(small_run: Path) -> Run:
    return Run.load(small_run)
