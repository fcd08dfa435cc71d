"""Runs to report on: one of many answers, and another model asked the same."""

from __future__ import annotations

import pytest
from tests.report.made import made_run

from clinometer.runs import Run


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """30 groups, 40 contexts, two categories, in a folder."""
    return made_run(tmp_path_factory.mktemp("made") / "small", groups=30, contexts=40)


@pytest.fixture(scope="session")
def another(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same questions, another model."""
    folder = tmp_path_factory.mktemp("made") / "another"
    return made_run(
        folder, groups=30, contexts=40, model="made:other", lean=-0.3, seed=1
    )
