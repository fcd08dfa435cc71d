"""Fixtures of the model tests: small models of every architecture, made once a session."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Lists that note what this process does on the network; a hook of Python's cannot be taken out.
_NOTES: list[list[str]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not _NOTES or arguments[:1] == (
        "git",
    ):  # which says what version of the code this is
        return
    if event == "socket.connect":
        _NOTES[-1].append(":".join(map(str, arguments[1][:2])))
    elif event in (
        "socket.getaddrinfo",
        "socket.sendto",
        "subprocess.Popen",
        "os.fork",
    ):
        _NOTES[-1].append(f"{event} {arguments[:1]}")


@pytest.fixture(scope="session")
def _noting() -> None:
    sys.addaudithook(_note)


@pytest.fixture
def connected(_noting: None) -> Iterator[list[str]]:
    """HOST:PORT of every connection that is begun, and every other way out of the process."""
    _NOTES.append([])
    yield _NOTES[-1]
    _NOTES.pop()


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
