from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import Estimate, RiskReport, decompose
from clinometer.measure.results import GroupIntervals


def test_an_estimate_is_immutable_and_becomes_a_dict() -> None:
    e = Estimate(0.2, low=0.1, high=0.3, level=0.95, method="percentile")
    assert e.to_dict() == {
        "value": 0.2,
        "low": 0.1,
        "high": 0.3,
        "level": 0.95,
        "method": "percentile",
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        e.value = 0.5  # type: ignore[misc]  # forbidden on purpose


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
def test_half_or_reversed_intervals_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Estimate(**{"value": 0.2, **fields})


def report(**settings: Any) -> RiskReport:
    p = [[[0.6, 0.4], [0.8, 0.2]], [[0.5, 0.5], [0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]]
    return decompose(
        p, groups=["doctor", "person", "nurse"], categories=["male", "female"], **settings
    )


MISSING = np.array([[False, False], [True, True], [True, True]])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("male", None, "female")),
        ({"reference": [0.9, 0.1]}, ("female", "female", "female")),  # 0.7 is below 0.9
        ({"mask": MISSING}, (None, None, "female")),
    ],
)
def test_leaning_is_the_favoured_category(
    settings: dict[str, Any], expected: tuple[str | None, ...]
) -> None:
    assert report(**settings).leaning == expected


def test_groups_table_by_hand() -> None:
    row = report(group_weights=[2, 1, 1]).groups_table()[0]
    assert list(row) == [
        "group", "weight", "r", "r_low", "r_high", "r_bias", "r_bias_low", "r_bias_high",
        "r_volatility", "r_volatility_low", "r_volatility_high", "leaning",
    ]  # fmt: skip
    assert (row["group"], row["weight"], row["leaning"]) == ("doctor", 0.5, "male")
    assert row["r"] == pytest.approx(0.4, abs=1e-15)
    assert row["r_low"] is None
    assert row["r_volatility_high"] is None


def test_group_intervals_fill_the_table() -> None:
    plain = report()
    bounds = np.array([[0.1, 0.5], [0.0, 0.1], [np.nan, np.nan]])
    filled = dataclasses.replace(
        plain,
        R=Estimate(plain.R.value, low=0.2, high=0.5, level=0.9, method="bootstrap"),
        intervals=GroupIntervals(bounds, bounds / 2, bounds / 4, level=0.9, method="bootstrap"),
    )
    rows = filled.groups_table()
    assert (rows[0]["r_low"], rows[0]["r_high"]) == (0.1, 0.5)
    assert (rows[0]["r_bias_high"], rows[0]["r_volatility_high"]) == (0.25, 0.125)
    assert rows[2]["r_low"] is None
    assert filled.to_dict()["summary"]["R"]["low"] == 0.2


@pytest.mark.parametrize("norm", [np.inf, 2])
def test_to_dict_is_strict_json(norm: float) -> None:
    found = report(mask=MISSING, norm=norm).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["summary"]["R"].keys() == {"value", "low", "high", "level", "method"}
    assert found["groups"][0]["r"] is None
    assert found["missing_groups"] == ["doctor"]
    assert found["norm"] == ("inf" if norm == np.inf else 2.0)
    assert found["mean_stereotype"][0] == [None, None]


@pytest.mark.parametrize(
    "name", ["r", "r_bias", "r_volatility", "mean_stereotype", "group_weights", "n_eff_by_group"]
)
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(report(), name)[0] = 0.0
