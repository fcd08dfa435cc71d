"""Packages of this machine: one that is missing hides no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pytest

from clinometer.extras import DISTRIBUTION, EXTRAS
from clinometer.models.catalog.provisions import survey


def test_every_extra_that_users_install_is_listed() -> None:
    declared = set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])
    assert declared - set(EXTRAS) == {"all", "bench", "dev", "docs"}


def test_installed_packages_are_found() -> None:
    sections = survey()
    extras = {provision.name: provision for provision in sections["extras"]}
    assert extras["models"]
    assert extras["web"]
    assert not extras["inspect"]
    assert extras["inspect"].command == f"pip install '{DISTRIBUTION}[inspect]'"
    assert all(model for model in sections["models"] if model.name != "hub cache")


def test_a_package_that_is_too_old_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.version
    monkeypatch.setattr(
        metadata,
        "version",
        lambda name: "0.1" if name == "vl-convert-python" else installed(name),
    )
    extras = {provision.name: provision for provision in survey()["extras"]}
    for name in ("report", "web"):  # web builds on report
        assert not extras[name]
        assert "vl-convert-python>=1.7" in extras[name].enables
    assert extras["models"]


def test_the_command_prints_the_survey(clinometer: Callable[..., Any]) -> None:
    shown = clinometer("doctor")
    assert shown.status == 0
    for words in ("Python", "extras", "models", "pip install 'clinometer[inspect]'"):
        assert words in shown.out
    told = json.loads(clinometer("doctor", "--json").out)
    assert all(
        set(f) == {"name", "found", "enables", "command"} for f in told["extras"]
    )
