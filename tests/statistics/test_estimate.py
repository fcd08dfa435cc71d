"""Estimates: what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"low": 0.3, "high": 0.1, "level": 0.95}, "low <= high, found 0.3, 0.1"),
        ({"low": 0.1}, "together"),
        ({"low": 0.1, "high": 0.2}, "together"),
        ({"level": 0.9}, "together"),
        ({"low": 0.1, "high": np.nan, "level": 0.95}, "low <= high"),
        ({"low": -np.inf, "high": 0.2, "level": 0.95}, "low <= high"),
        ({"low": 0.1, "high": 0.2, "level": 95}, "level: expected"),
        ({"value": np.nan}, "finite"),
    ],
)
def test_half_or_reversed_intervals_are_refused(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        Estimate(**{"value": 0.2, **fields})
