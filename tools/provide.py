"""Look for the programs that the tests drive, and bring what can be brought without asking.

    python tools/provide.py

Called by `make test` in its environment. It says of each program what it found or did. A program
that cannot be had is no error: only the tests that need it are skipped, and they say so. Nothing
here needs root; where this user may run apt-get, a missing browser comes from there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from clinometer.models.catalog.provisions import Provision

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.components import find, missing  # noqa: E402

CONSTRAINTS = ROOT / "constraints.txt"
#: Wheels with compiled programs inside, which not every platform has. Each is installed on its own,
#: so that one that is missing costs its own tests and no others.
WHEELS = ("xllamacpp", "bitsandbytes")


def main() -> None:
    for wheel in WHEELS:
        pip_install(wheel)
    if not find("browser"):
        apt_browser()
        find.cache_clear()
    report(find("browser"))
    report(find("axe-core"))


def apt_browser() -> None:
    """Debian's Chromium, where this user may install it."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    sys.stdout.write("browser: none on the PATH, trying apt-get install chromium\n")
    sys.stdout.flush()
    install = [
        "install",
        "-y",
        "--no-install-recommends",
        "chromium",
        "fonts-liberation",
    ]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], install):
        done = subprocess.run(
            ["apt-get", "-qq", *words],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            sys.stdout.write(f"browser: apt-get {words[0]} failed: {' '.join(last)}\n")
            return


def pip_install(package: str) -> None:
    """One package, with what it needs; a failure is one line."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
    ]
    done = subprocess.run(
        [*pip, "--constraint", str(CONSTRAINTS), package],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")][
            -1:
        ]
        sys.stdout.write(f"{package}: cannot be installed here: {' '.join(last)}\n")


def report(finding: Provision) -> None:
    line = f"{finding.name}: {finding.evidence}" if finding else missing(finding)
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
