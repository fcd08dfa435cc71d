"""What some tests need and not every machine has. A test without it is skipped and says so; with
CI=true a missing component is an error before the first test, so that CI skips nothing."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.programs import find_axe, find_browser

from clinometer.machine import Provision

SHARED_DATA = Path(
    os.environ.get(
        "CLINOMETER_SHARED_DATA",
        Path(__file__).resolve().parent.parent.parent / "shared" / "data",
    )
)


def _shared_data() -> Provision:
    return Provision(
        "shared data",
        str(SHARED_DATA) if SHARED_DATA.is_dir() else None,
        "tests on published benchmarks and corpora",
        "put them at ../shared/data, or name their folder in CLINOMETER_SHARED_DATA",
    )


def _package(name: str, enables: str) -> Callable[[], Provision]:
    def find() -> Provision:
        there = importlib.util.find_spec(name) is not None
        return Provision(name, "installed" if there else None, enables, f"pip install {name}")

    return find


COMPONENTS: dict[str, Callable[[], Provision]] = {
    "browser": find_browser,
    "axe-core": find_axe,
    "shared data": _shared_data,
    "xllamacpp": _package("xllamacpp", "tests of llama.cpp's server"),
    "bitsandbytes": _package("bitsandbytes", "tests of 8-bit weights"),
}


@cache
def find(component: str) -> Provision:
    return COMPONENTS[component]()


def _missing(finding: Provision) -> str:
    """What is missing, what that costs, and the command that installs it."""
    command = f": {finding.command}" if finding.command else ""
    return f"{finding.name}: not found; needed for {finding.enables}{command}"


def require(component: str) -> str:
    """Where a component is; skips the test that asks when it is missing."""
    finding = find(component)
    if finding.found is None:
        pytest.skip(_missing(finding))
    return finding.found


def needs(component: str) -> pytest.MarkDecorator:
    """A mark for tests, or a whole module (pytestmark), that cannot run without a component."""
    finding = find(component)
    return pytest.mark.skipif(not finding, reason=_missing(finding))


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.environ.get("CI") != "true" or hasattr(session.config, "workerinput"):
        return
    missing = [_missing(finding) for name in COMPONENTS if not (finding := find(name))]
    if missing:
        pytest.exit("CI may skip no test:\n" + "\n".join(missing), returncode=4)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests were skipped for which reason, and what would bring them: the last lines."""
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    if reasons:
        terminalreporter.section("skipped tests, and what would bring them")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5d}  {reason}")
