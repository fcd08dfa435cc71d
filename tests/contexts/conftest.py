"""Fixtures of the context tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def shared_data() -> Path:
    """The third-party data beside the repository; never part of the product."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"third-party test data is not at {folder}")
    return folder
