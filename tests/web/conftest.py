"""A folder with runs, and the viewer over it on a real port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.models.server.http import serving
from tests.report.made import made_run

from clinometer.contexts import ContextSet
from clinometer.runs import audit
from clinometer.topics import load_topic

CONTEXTS = ContextSet("few", ["The [X] said that [Y]", "The [X] felt that [Y]"], [5, 3])


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made runs, a hostile one, and one of a real model with its words."""
    folder = tmp_path_factory.mktemp("runs")
    made_run(folder / "a" / "first", groups=12, contexts=15)
    made_run(folder / "second", groups=12, contexts=15, model="made:other", seed=1)
    made_run(folder / "hostile", groups=12, contexts=12, hostile=True)
    topic = load_topic("gender").select(["nurse", "engineer", "accountant"])
    audit("pocket:gpt2-s", topic=topic, contexts=CONTEXTS, out=folder / "real")
    return folder


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    with served(root) as found:
        yield found


def served(folder: Path, **options: Any) -> AbstractContextManager[str]:
    """The viewer on a free port, in a thread."""
    from clinometer.web import viewer

    return serving(viewer(folder, **options))
