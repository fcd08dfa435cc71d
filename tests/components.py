"""What some tests need and not every machine has: data, packages, and programs that pip does not
bring. A test without it is skipped and says so; with CI=true a missing component is an error before
the first test, so that CI skips nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from clinometer.machine import Provision

SHARED_DATA = Path(
    os.environ.get(
        "CLINOMETER_SHARED_DATA", Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    )
)


BROWSER = "CLINOMETER_BROWSER"

#: Anything that speaks Chromium's protocol, by the names that packagers give it.
_BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("msedge", "microsoft-edge"),
)
_MACOS_BROWSERS = tuple(
    f"/Applications/{name}.app/Contents/MacOS/{name}"
    for name in ("Google Chrome", "Chromium", "Microsoft Edge")
)


def find_browser() -> Provision:
    """A Chromium: $CLINOMETER_BROWSER, the PATH, then the one Playwright has downloaded."""
    # `which` takes paths, too.
    names = (*_BROWSERS, *(_MACOS_BROWSERS if sys.platform == "darwin" else ()))
    on_path = next(filter(None, map(shutil.which, names)), None)
    return Provision(
        "browser",
        _chosen(BROWSER) if BROWSER in os.environ else on_path or _playwrights_own(),
        "the browser tests of reports, viewer and annotation pages",
        "playwright install chromium"
        if shutil.which("apt-get") is None
        else "sudo apt-get install chromium",
    )


def _chosen(variable: str) -> str | None:
    path = Path(os.environ[variable])
    return str(path) if path.exists() else None


def _playwrights_own() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return None
    # In a separate process: Playwright refuses to start twice in one, and a caller may use it.
    ask = (
        "from playwright.sync_api import sync_playwright as start\n"
        "with start() as playwright: print(playwright.chromium.executable_path)"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    path = Path(done.stdout.strip())
    return str(path) if path.is_file() else None


def find_axe() -> Provision:
    """axe-core (accessibility rules), carried by the package axe-playwright-python."""
    spec = importlib.util.find_spec("axe_playwright_python")
    script = Path(spec.origin).with_name("axe.min.js") if spec and spec.origin else None
    return Provision(
        "axe-core",
        str(script) if script and script.exists() else None,
        "the accessibility tests",
        "pip install axe-playwright-python",
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


def missing(finding: Provision) -> str:
    """What is missing, what that costs, and the command that installs it."""
    command = f": {finding.command}" if finding.command else ""
    return f"{finding.name}: not found; needed for {finding.enables}{command}"


def require(component: str) -> str:
    """Where a component is; skips the test that asks when it is missing."""
    finding = find(component)
    if finding.found is None:
        pytest.skip(missing(finding))
    return finding.found


def needs(component: str) -> pytest.MarkDecorator:
    """A mark for tests, or a whole module (pytestmark), that cannot run without a component."""
    finding = find(component)
    return pytest.mark.skipif(not finding, reason=missing(finding))


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.environ.get("CI") != "true" or hasattr(session.config, "workerinput"):
        return
    absent = [missing(finding) for name in COMPONENTS if not (finding := find(name))]
    if absent:
        pytest.exit("CI may skip no test:\n" + "\n".join(absent), returncode=4)


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
