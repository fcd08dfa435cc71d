"""Dataclasses of settings with some settings replaced by name."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings
from clinometer.settings import COUNT, option, with_settings


@dataclass(frozen=True)
class Tea:
    cups: int | None = option(None, help="Cups to make.", allowed=COUNT)


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
    breakfast = with_settings(Breakfast(), {"guests": 2, "warm": True, "cups": 3})
    assert breakfast == Breakfast(guests=2, milk=Milk(warm=True, tea=Tea(cups=3)))
    for_five = Breakfast(guests=5, milk=Milk(warm=True))
    changed = with_settings(for_five, {"cups": 1})
    assert changed == Breakfast(guests=5, milk=Milk(warm=True, tea=Tea(cups=1)))
    whole = with_settings(Breakfast(), {"milk": Milk(warm=True), "cups": 3})
    assert whole.milk == Milk(warm=True, tea=Tea(cups=3))


def test_a_name_of_several_dataclasses_sets_them_all_and_makes_none() -> None:
    assert with_settings(Breakfast(), {"seed": 7}) == Breakfast(seed=7)
    assert with_settings(AuditSettings(), {"seed": 7}) == AuditSettings(seed=7)
    sweet = with_settings(Breakfast(), {"seed": 7, "lumps": 2})
    assert sweet == Breakfast(seed=7, sugar=Sugar(lumps=2, seed=7))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gests": 2}, r"^gests: no such setting; did you mean guests\?$"),
        ({"xyz": 2}, r"^xyz: no such setting$"),
        ({"brown": True}, "^brown: expected together with lumps$"),
        ({"seed": 1, "brown": True}, "^brown, seed: expected together with lumps$"),
    ],
)
def test_what_cannot_be_set_is_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        with_settings(Breakfast(), given)
