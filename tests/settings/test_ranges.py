"""Ranges of numbers: their ends, and how they are said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.settings import COUNT, LEVEL, REPLICATES, SEED, SHARE_ABOVE_0, Range


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
