"""A folder with runs, and the viewer over it on a real port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import until
from tests.report.made import made_run

from clinometer.contexts import ContextSet
from clinometer.runs import audit
from clinometer.topics import load_topic

CONTEXTS = ContextSet("few", ["The [X] said that [Y]", "The [X] felt that [Y]"], [5, 3])


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made runs, a hostile one, and one of a real model with its words."""
    folder = tmp_path_factory.mktemp("runs")
    made_run(folder / "a" / "first", groups=12, contexts=15, replicates=100)
    made_run(folder / "second", groups=12, contexts=15, model="made:other", seed=1, replicates=100)
    made_run(folder / "hostile", groups=12, contexts=12, hostile=True, replicates=100)
    topic = load_topic("gender").select(["nurse", "engineer", "accountant"])
    audit("smollm2", topic=topic, contexts=CONTEXTS, out=folder / "real")
    return folder


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    with served(root) as found:
        yield found


class served:  # noqa: N801  (used as a statement: with served(folder) as address)
    """The viewer on a free port, in a thread."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, options

    def __enter__(self) -> str:
        import socket

        import uvicorn

        from clinometer.web import viewer

        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        config = uvicorn.Config(viewer(self.folder, **self.options), log_level="error")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        until(lambda: self.server.started, alive=self.thread.is_alive)
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()
