"""Help fits a screen: the list of commands in 40 lines of 80 columns, every command in 50."""

from __future__ import annotations

import re

import pytest
from tests.command import Clinometer, every_command

from clinometer.cli.app import COMMANDS

EVERY = dict(every_command())
GROUPS = [(), *((name,) for name, (place, _) in COMMANDS.items() if not isinstance(place, str))]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def lines(text: str) -> list[str]:
    """What is printed, without the empty lines at both ends."""
    return text.strip().splitlines()


def test_the_commands_are_these_in_the_order_of_use() -> None:
    used = "audit report view compare gate plan import export mine reliability study"
    assert list(COMMANDS) == [*used.split(), "list", "doctor"]


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: " ".join(path) or "clinometer")
def test_a_list_of_commands_fits_a_screen(clinometer: Clinometer, path: tuple[str, ...]) -> None:
    shown = lines(clinometer(*path, "--help").out)
    assert len(shown) <= 40
    assert max(map(len, shown)) <= 80
    commands = COMMANDS
    for name in path:
        inner = commands[name][0]
        assert not isinstance(inner, str)
        commands = inner
    for name, (_, line) in commands.items():
        row = rf"│ {re.escape(name)} +{re.escape(line)} +│"
        assert any(re.fullmatch(row, text) for text in shown), f"{name}: more than one line"


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_the_help_of_a_command_fits_a_screen(clinometer: Clinometer, path: tuple[str, ...]) -> None:
    shown = lines(clinometer(*path, "--help").out)
    assert len(shown) <= 50
    assert max(map(len, shown)) <= 80


def test_what_few_people_need_is_listed_by_help_all(clinometer: Clinometer) -> None:
    short, whole = (clinometer("audit", option).out for option in ("--help", "--help-all"))
    hidden = {p.opts[0] for p in EVERY["audit",].params if getattr(p, "hidden", False)}
    assert hidden
    assert f"--help-all shows {len(hidden)} more options" in short
    assert "--help-all" not in whole
    for option in hidden:
        assert f"{option} " not in short
        assert f"{option} " in whole
    assert "Servers" in whole
