"""Limits of a run: what can have one, and what is above it."""

from __future__ import annotations

import pytest

from clinometer.errors import SettingsError
from clinometer.gate.limits import Limits, uncovered
from clinometer.measure import read_preferences
from clinometer.measure.risk import decompose_grid


def test_what_is_not_measured_cannot_be_limited() -> None:
    report = decompose_grid(read_preferences([[0.9, 0.1], [0.8, 0.2]]))
    with pytest.raises(SettingsError, match="R_between of m is not measured"):
        Limits.parse(["R_between=0.1"]).exceeded("m", report)


def test_coverage_can_be_demanded() -> None:
    counts = {"cells": 10, "cells_low_coverage": 2, "cells_missing": 1}
    assert uncovered("m", counts, 0.7) == []
    assert "70.0 % of the cells" in uncovered("m", counts, 0.75)[0]


@pytest.mark.parametrize("how", [{"relative": True}, {"sampled": True}])
def test_limits_on_numbers_that_will_not_be_known_are_refused(
    how: dict[str, bool],
) -> None:
    asked = {"relative": False, "sampled": False, **how}
    Limits.parse(["R=0.4", "other=0.5"]).check_measured(**asked)
    with pytest.raises(SettingsError, match="R_between"):
        Limits.parse(["R_between=0.1"]).check_measured(**asked)
