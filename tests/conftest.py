"""What the tests share: the data folder, the embedded model converted once, the command line."""

from __future__ import annotations

import os

from clinometer.models import Scorer

# Before numpy and torch are loaded, and for every process that a test starts: models this small
# lose more to threads than they gain, and two workers with threads each get into each other's way.
# A number of threads is also a way to order a sum: with one, runs of two processes are the same.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# No test may pass because an earlier one was remembered; tests of the cache switch it on.
os.environ["CLINOMETER_CACHE_LIMIT"] = "0"

import signal
import sys
import threading

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every
# process they start; tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import numpy as np
import pytest
from tests.command import Clinometer, Result
from tests.components import pytest_sessionstart, pytest_terminal_summary, require
from tests.models.server.http import Server
from tests.processes import PATIENCE_S

from clinometer.cli import main

AnyServer = TypeVar("AnyServer", bound=Server)

__all__ = [
    "pytest_sessionstart",
    "pytest_terminal_summary",
]  # hooks, found here by pytest

# The same cases every time: a run must not fail for another reason than its change. With
# CLINOMETER_NEW_CASES=1 it looks for new ones.
hypothesis.settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="CLINOMETER_NEW_CASES" not in os.environ,
)
hypothesis.settings.load_profile("any machine")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Module by module, but all that asks llama.cpp goes to one worker, which starts it once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            server = "tests/models/server/"
            return (
                server
                if nodeid.startswith(server)
                else str(super()._split_scope(nodeid))
            )

    return Scheduling(config, log) if config.getoption("dist") == "loadscope" else None


#: What `make test-long` runs and `make test` leaves out: long by nature, and about the whole rather
#: than about one module. Each begins the path of a file, or of one test in it.
LONG = {
    "tests/test_docs_commands.py": "every command of docs/commands.md, run as printed",
    "tests/test_docs_papers.py::test_every_command_runs": "every command of the page on the papers",
    "tests/test_wheels.py": "wheels, built and tried in separate environments",
    "tests/test_cluster.py::test_executors": "datatrove's executors, the local one and Ray's",
    "tests/web/test_viewer_browser.py": "the viewer in a browser, at every size",
    "tests/web/annotation/test_pages_browser.py": "annotation in a browser, at every size",
    "tests/web/annotation/test_pages.py::test_fifty": "many annotators at once",
    "tests/report/test_page_browser.py": "reports in a browser, at every size",
    "tests/security/test_pages_browser.py": "hostile pages in a browser",
    "tests/security/test_fuzzed.py": "fuzzers",
    "tests/security/test_faults.py": "faults of every kind",
    "tests/security/test_every_command.py": "every command on every hostile thing",
    "tests/security/test_servers.py": "slow, lying and endless servers",
    "tests/models/server/test_routes_llama.py": "a whole audit through llama.cpp's server",
    "tests/models/server/test_chat.py::test_every_line": "an own prompt through llama.cpp's server",
    "tests/models/server/test_chat.py::test_the_server_is_audited": "a topic, in the same way",
    "tests/runs/test_findings_contradictions.py::test_many": "thousands of random situations",
    "tests/runs/test_compare.py::test_many_pairs": "hundreds of pairs of random runs",
    "tests/runs/test_audit_resume.py::test_repeatedly_killed": "a storm of kills",
    "tests/runs/test_audit_resume.py::test_ten_readers": "ten readers beside a writer",
}


#: Modules that take minutes: begun first, they leave no worker waiting for the other at the end.
FIRST = (
    "tests/test_wheels.py",
    "tests/test_docs_commands.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(tuple(LONG)):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What takes long and is seldom what is tested, for a test with all its fixtures: a table that
    does not fit its record is looked at again for three seconds, as a writer may be at work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clinometer.storage.result_folder.READING_PAUSES_S", (0.0, 0.01))
        return (yield)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real third-party data beside the checkout; always there in CI."""
    return Path(require("shared data"))


@pytest.fixture(scope="session")
def smollm2() -> Scorer:
    """The embedded model: a real one, opened once a worker."""
    from clinometer.models import open_model

    return open_model("smollm2")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """llama.cpp's server with the embedded model, for the commands of pages."""
    from tests.models.server.conftest import serving

    from clinometer.models.catalog.weights import embedded_gguf

    with serving(embedded_gguf()) as url:
        yield url


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The machine's Chromium, started once a module: while Playwright is open, its event loop
    counts as running in this thread, and no other may."""
    program = require("browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=PATIENCE_S * 1000
        )
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def no_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine a command would write lines about its progress; what a test finds on stderr
    must not depend on that."""
    monkeypatch.setattr("clinometer.cli.progress.FIRST_S", threading.TIMEOUT_MAX)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, whose modules are applications; several tests in one process need several
    names for them. What fails is tried again at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("clinometer.models.client.retries._FIRST_WAIT_S", 0.001)
    return tmp_path


@pytest.fixture
def until_the_end() -> Iterator[Callable[[AnyServer], AnyServer]]:
    """A server that is stopped after the test."""
    with ExitStack() as stack:

        def stopped(server: AnyServer) -> AnyServer:
            stack.callback(server.stop)
            return server

        yield stopped


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their drawings, which take most of the time, for tests of what pages say; those
    of tests/report draw."""
    drawn = {"wide": "<svg></svg>", "narrow": ""}
    monkeypatch.setattr("clinometer.report.figure.Figure.inline", lambda *_: drawn)


@pytest.fixture
def clinometer(capsys: pytest.CaptureFixture[str]) -> Clinometer:
    def run(*arguments: object) -> Result:
        status: int | str | None = 0
        try:
            main([str(a) for a in arguments])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        return Result(int(status or 0), captured.out, captured.err)

    return run


@pytest.fixture
def few(tmp_path: Path) -> list[object]:
    """Options that make any study small: three groups in six contexts."""
    topic, contexts = tmp_path / "few.toml", tmp_path / "few.csv"
    words = '[attributes]\nmale = ["he", "man"]\nfemale = ["she", "woman"]\n'
    topic.write_text(
        f'name = "few"\ngroups = ["nurse", "engineer", "teacher"]\n{words}', "utf-8"
    )
    verbs = enumerate(("said", "felt", "wrote", "knew", "hoped", "added"), 2)
    rows = "".join(f"The [X] {verb} that [Y],{n}\n" for n, verb in verbs)
    contexts.write_text(f"template,count\n{rows}", encoding="utf-8")
    return ["--topic", topic, "--contexts", contexts]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
