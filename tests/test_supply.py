"""What comes with the package: lower bounds, licences, and the bill of materials."""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from tests.present import loaded

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def supply() -> ModuleType:
    return loaded(ROOT / "tools" / "supply.py")


def test_every_requirement_has_a_lower_bound_that_the_tested_version_meets(
    supply: ModuleType,
) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        one.name.lower(): str(one.specifier)[2:]
        for one in map(Requirement, filter(None, lines))
    }
    lowest = [Requirement(line) for line in supply.lowest_versions()]
    assert pinned.keys() & {one.name.lower() for one in lowest}
    for one in lowest:
        if one.name.lower() in pinned:
            assert Version(str(one.specifier)[2:]) <= Version(
                pinned[one.name.lower()]
            ), one


def test_every_licence_is_allowed(
    supply: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert supply.check_licences() == 0
    listed = capsys.readouterr().out
    assert "numpy" in listed
    assert "no licence named" not in listed


@pytest.mark.parametrize(
    "text", ["GPL-3.0-only", "AGPL-3.0", "Proprietary", "SSPL-1.0", ""]
)
def test_other_licences_are_refused(
    supply: ModuleType, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "METADATA").write_text(f"Name: odd\nVersion: 1\nLicense: {text}\n")
    package = Distribution.at(tmp_path)
    monkeypatch.setattr(
        supply, "shipped", lambda: [(package, supply.licence_of(package))]
    )
    assert supply.check_licences() == 1


def test_the_bill_of_materials_names_every_package_once(
    supply: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sbom.json"
    monkeypatch.setattr(sys, "argv", ["supply.py", "sbom", str(file)])
    assert supply.main() == 0
    bill = json.loads(file.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    urls = [one["purl"] for one in bill["components"]]
    assert len(urls) == len(set(urls))
    assert any(url.startswith("pkg:pypi/numpy@") for url in urls)


def test_an_audit_of_nothing_is_not_a_clean_one(
    supply: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """As pip-audit 2.10 writes it: without advisories it ends with status 0."""
    unknown = {"name": "a", "skip_reason": "not found on PyPI"}
    sound = {"name": "b", "version": "1", "vulns": []}
    bad = {
        "name": "c",
        "version": "2",
        "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}],
    }
    assert [supply.audited([unknown]), supply.audited([unknown, sound])] == [0, 0]
    assert supply.audited([unknown, sound, bad]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "audit: not run: the index has advisories for none of 1 packages",
        "audit: 1 packages, 1 unknown to the index, 0 known vulnerabilities",
        "c 2: PYSEC-1; fixed in 3",
        "audit: 2 packages, 1 unknown to the index, 1 known vulnerabilities",
    ]
