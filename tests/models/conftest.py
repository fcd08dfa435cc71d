"""Fixtures of the model tests: small models of every architecture, made once a session."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Models this small lose more to threads than they gain, and on ARM far more to oneDNN."""
    import torch

    torch.set_num_threads(1)
    if platform.machine() in {"aarch64", "arm64"}:
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]  # a property of the module


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of an architecture's small model."""
    import transformers
    from tests.models import zoo

    transformers.utils.logging.disable_progress_bar()
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = zoo.make(family, tmp_path_factory.mktemp(family))
        return made[family]

    return folder
