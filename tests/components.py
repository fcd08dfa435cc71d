"""What some tests need and not every machine has: data, packages, and programs that pip does not
bring. A test without it is skipped and says so; with CI=true a missing component is an error before
the first test, so that CI skips nothing."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest

from clinometer.models.catalog.provisions import Provision

SHARED_DATA = Path(
    os.environ.get(
        "CLINOMETER_SHARED_DATA",
        Path(__file__).resolve().parent.parent.parent / "shared" / "data",
    )
)


BROWSER = "CLINOMETER_BROWSER"

#: Anything that speaks Chromium's protocol, by the names that packagers give it.
_BROWSERS = (
    *(
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
    ),
    *("msedge", "microsoft-edge"),
)
_MACOS_BROWSERS = tuple(
    f"/Applications/{name}.app/Contents/MacOS/{name}"
    for name in ("Google Chrome", "Chromium", "Microsoft Edge")
)


def _browser() -> str | None:
    """A Chromium: $CLINOMETER_BROWSER, the PATH, then the one Playwright has downloaded."""
    if BROWSER in os.environ:
        path = Path(os.environ[BROWSER])
        return str(path) if path.exists() else None
    # `which` takes paths, too.
    names = (*_BROWSERS, *(_MACOS_BROWSERS if sys.platform == "darwin" else ()))
    return next(filter(None, map(shutil.which, names)), None) or _playwrights_own()


def _playwrights_own() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return None
    # In a separate process: Playwright refuses to start twice in one, and a caller may use it.
    ask = (
        "from playwright.sync_api import sync_playwright as start\n"
        "with start() as playwright: print(playwright.chromium.executable_path)"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=False
    )
    path = Path(done.stdout.strip())
    return str(path) if path.is_file() else None


def _axe() -> str | None:
    """axe-core (accessibility rules), carried by the package axe-playwright-python."""
    spec = importlib.util.find_spec("axe_playwright_python")
    script = Path(spec.origin).with_name("axe.min.js") if spec and spec.origin else None
    return str(script) if script and script.exists() else None


def _package(name: str) -> str | None:
    return "installed" if importlib.util.find_spec(name) is not None else None


def _llama_cpp() -> str | None:
    """llama.cpp's server. It needs OpenMP's library, which a bare Debian lacks and torch brings."""
    try:
        importlib.import_module("torch")
        importlib.import_module("xllamacpp")
    except ImportError:
        return None
    return "installed"


#: Where each is looked for, what needs it, and the command that brings it.
COMPONENTS: dict[str, tuple[Callable[[], str | None], str, str]] = {
    "browser": (
        _browser,
        "the browser tests of reports, viewer and annotation pages",
        "playwright install chromium"
        if shutil.which("apt-get") is None
        else "sudo apt-get install chromium",
    ),
    "axe-core": (_axe, "the accessibility tests", "pip install axe-playwright-python"),
    "shared data": (
        lambda: str(SHARED_DATA) if SHARED_DATA.is_dir() else None,
        "tests on published benchmarks and corpora",
        "put them at ../shared/data, or name their folder in CLINOMETER_SHARED_DATA",
    ),
    "xllamacpp": (
        _llama_cpp,
        "tests of llama.cpp's server",
        "pip install xllamacpp, and on Debian apt-get install libgomp1",
    ),
    "bitsandbytes": (
        partial(_package, "bitsandbytes"),
        "tests of 8-bit weights",
        "pip install bitsandbytes",
    ),
}


@cache
def find(component: str) -> Provision:
    look, enables, command = COMPONENTS[component]
    return Provision(component, look(), enables, command)


def missing(finding: Provision) -> str:
    """What is missing, what that costs, and the command that installs it."""
    return f"{finding.name}: not found; needed for {finding.enables}: {finding.command}"


def require(component: str) -> str:
    """Where a component is; skips the test that asks when it is missing."""
    finding = find(component)
    if finding.evidence is None:
        pytest.skip(missing(finding))
    return finding.evidence


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
