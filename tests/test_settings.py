"""Settings that are declared once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field, fields

import pytest

from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings
from clinometer.settings import COUNT, check_settings, option, option_of, with_settings


@dataclass(frozen=True)
class Tea:
    cups: int | None = option(None, help="Cups to make.", allowed=COUNT, panel="Kitchen")
    kind: str | None = option(None, help="Kind of tea.", choices=("green", "black"))
    note: str = ""


@pytest.mark.parametrize("tea", [Tea(), Tea(cups=1, kind="green", note="hot")])
def test_allowed_and_unset_values_pass(tea: Tea) -> None:
    check_settings(tea)


@pytest.mark.parametrize(
    ("tea", "message"),
    [
        (Tea(cups=0), "cups: expected a whole number of at least 1, found 0"),
        (Tea(kind="red"), "kind: expected one of green, black; found 'red'"),
    ],
)
def test_other_values_are_named(tea: Tea, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        check_settings(tea)
    assert str(error.value) == message


def test_a_plain_field_is_not_an_option() -> None:
    about = [option_of(one) for one in fields(Tea)]
    assert about[0] is not None
    assert (about[0].help, about[0].panel) == ("Cups to make.", "Kitchen")
    assert about[2] is None


def test_reading_the_settings_keeps_the_command_line_light() -> None:
    code = "import sys, clinometer.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "scipy.stats", "torch", "transformers"} & set(done.stdout.split())


@dataclass(frozen=True)
class Sugar:
    lumps: int
    brown: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Milk:
    warm: bool = False
    tea: Tea = field(default_factory=Tea)


@dataclass(frozen=True)
class Breakfast:
    guests: int = 1
    seed: int = 0
    milk: Milk = field(default_factory=Milk)
    sugar: Sugar | None = None


def test_settings_are_given_by_name_however_deep_they_are() -> None:
    found = with_settings(Breakfast(), {"guests": 2, "warm": True, "cups": 3})
    assert found == Breakfast(guests=2, milk=Milk(warm=True, tea=Tea(cups=3)))
    kept = with_settings(Breakfast(guests=5, milk=Milk(warm=True)), {"cups": 1})
    assert kept == Breakfast(guests=5, milk=Milk(warm=True, tea=Tea(cups=1)))
    given = with_settings(Breakfast(), {"milk": Milk(warm=True), "cups": 3})
    assert given.milk == Milk(warm=True, tea=Tea(cups=3))


def test_a_name_of_several_dataclasses_sets_them_all_and_makes_none() -> None:
    assert with_settings(Breakfast(), {"seed": 7}) == Breakfast(seed=7)
    assert with_settings(AuditSettings(), {"seed": 7}) == AuditSettings(seed=7)
    found = with_settings(Breakfast(), {"seed": 7, "lumps": 2})
    assert found == Breakfast(seed=7, sugar=Sugar(lumps=2, seed=7))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gests": 2}, r"^gests: no such setting; did you mean guests\?$"),
        ({"xyz": 2}, r"^xyz: no such setting$"),
        ({"brown": True}, "^brown: expected together with lumps$"),
    ],
)
def test_what_cannot_be_set_is_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        with_settings(Breakfast(), given)
