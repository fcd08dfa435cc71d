"""One writer at a time, and no folder left by a run that never began."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.errors import RunError
from clinometer.runs import RunFolder


def test_a_refused_writer_leaves_the_first_lock_in_place(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        for _ in range(2):
            with pytest.raises(RunError, match="another process"), RunFolder(folder.path).locked():
                pass
    assert not folder.path.exists()  # nothing was written
