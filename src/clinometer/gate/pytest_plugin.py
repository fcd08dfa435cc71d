"""The pytest plug-in: shows each decision of `clinometer.assert_not_worse` after the tests.

Found by pytest through the entry point group pytest11. Decisions travel as user properties of the
tests, so they are in JUnit files too, and with pytest-xdist they come from the workers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clinometer.gate import WATCHERS

PROPERTY = "clinometer"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("clinometer", "gates on bias risk (clinometer)")
    group.addoption(
        "--clinometer-baseline",
        metavar="RUN",
        default=None,
        help="Run folder that the fixture clinometer_baseline names; without it, tests that ask "
        "for the fixture are skipped.",
    )


@pytest.fixture(scope="session")
def clinometer_baseline(pytestconfig: pytest.Config) -> str:
    """The run folder given with --clinometer-baseline."""
    given = pytestconfig.getoption("--clinometer-baseline")
    if given is None:
        pytest.skip("no baseline: name a run folder with --clinometer-baseline")
    return str(given)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    def note(decision: str) -> None:
        item.user_properties.append((PROPERTY, decision))

    WATCHERS.append(note)
    try:
        return (yield)
    finally:
        WATCHERS.remove(note)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        (report.nodeid, about)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, about in report.user_properties
        if name == PROPERTY
    ]
    if not lines:
        return
    terminalreporter.section("clinometer gates")
    for nodeid, about in lines:
        terminalreporter.write_line(f"{nodeid}: {about}")
