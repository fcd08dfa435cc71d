"""Settings that are declared once, and ranges of numbers: their ends, and how they are said."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings
from clinometer.settings import (
    COUNT,
    LEVEL,
    REPLICATES,
    SEED,
    SHARE_ABOVE_0,
    Range,
    option,
    with_settings,
)


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


@pytest.mark.parametrize(
    "value", [-1, 2**32, 10**400, 1.5, float("nan"), float("inf"), True, None, "3", [1]]
)
def test_numbers_outside_the_range_fail(value: object) -> None:
    with pytest.raises(SettingsError, match=r"^seed: "):
        SEED.check("seed", value)


def test_open_and_closed_ends() -> None:
    for value in (0, 2**32 - 1, np.int64(3), 2.0):
        SEED.check("seed", value)
    assert [v in LEVEL for v in (0, 1e-9, 0.95, 1)] == [False, True, True, False]
    assert [v in SHARE_ABOVE_0 for v in (0, Fraction(2, 3), 1)] == [False, True, True]
    assert [v in REPLICATES for v in (0, 1, 99, 100)] == [True, False, False, True]
    assert not any(v in Range() for v in (float("inf"), -float("inf"), float("nan")))


def test_ranges_in_words() -> None:
    assert COUNT.expected == "a whole number of at least 1"
    assert SEED.expected == "a whole number of at least 0 and at most 4294967295"
    assert LEVEL.expected == "a number above 0 and below 1, such as 0.95"
    assert (
        REPLICATES.expected == "0, or a whole number of at least 100 and at most 100000"
    )


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"level": 0}, {"level": 95}, {"max_contexts": 0}]
)
def test_the_library_refuses_what_the_command_line_refuses(
    wrong: dict[str, Any],
) -> None:
    with pytest.raises(SettingsError, match=f"^{next(iter(wrong))}: expected"):
        AuditSettings(**wrong)
