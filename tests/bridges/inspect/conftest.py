"""The real llama.cpp server of the server tests, and logs that stay in their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bridges.inspect.made_log import audit_log
from tests.models.server.conftest import llama

__all__ = ["llama"]


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of clinometer/audit that Inspect wrote, made once."""
    return audit_log(tmp_path_factory.mktemp("logs"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect keeps replies and traces in folders of the user."""
    monkeypatch.chdir(tmp_path)
    for name in ("INSPECT_CACHE_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
