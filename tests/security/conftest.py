"""What several attacks begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.made import made_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound run folder, to copy and to spoil."""
    folder = tmp_path_factory.mktemp("made") / "run"
    made_run(folder, groups=2, contexts=40)
    return folder
