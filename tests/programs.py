"""The programs that tests drive and pip does not bring: a browser and axe-core."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from clinometer.machine import Provision

BROWSER = "CLINOMETER_BROWSER"

#: Anything that speaks Chromium's protocol, by the names that packagers give it.
_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_MACOS_BROWSERS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
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


def find_axe() -> Provision:
    """axe-core (accessibility rules), carried by the package axe-playwright-python."""
    script = _inside("axe_playwright_python", "axe.min.js")
    return Provision(
        "axe-core",
        str(script) if script else None,
        "the accessibility tests",
        "pip install axe-playwright-python",
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


def _inside(module: str, path: str) -> Path | None:
    """A file or folder inside an installed package, found without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return None
    inside = Path(spec.origin).parent / path
    return inside if inside.exists() else None
