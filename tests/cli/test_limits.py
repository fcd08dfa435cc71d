"""Gates decide on a bound of the interval, and say which."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer

from clinometer.cli.limits import check_measured, exceeded, uncovered
from clinometer.errors import SettingsError
from clinometer.measure import read_preferences
from clinometer.measure.risk import decompose_grid


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["group,context,attribute,p"]
    for group in "ab":
        for c in range(12):
            p = rng.uniform(0.5, 0.9)
            lines += [f"{group},c{c},x,{p}", f"{group},c{c},y,{1 - p}"]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_default_is_the_lower_end(table: Path, clinometer: Clinometer) -> None:
    R = json.loads(clinometer("import", "table", table, "--json").out)["summary"]["R"]
    between, limited = (
        f"R={(R['low'] + R['value']) / 2}",
        ("import", "table", table, "--fail-above"),
    )
    assert clinometer(*limited, between).status == 0
    for end, status in (("point", 1), ("high", 1), ("low", 0), ("middle", 2)):
        assert clinometer(*limited, between, "--fail-on", end).status == status
    below = clinometer(*limited, f"R={R['low'] / 2}")
    assert below.status == 1
    assert "the lower end of its 95 % interval" in below.err
    assert clinometer(*limited, "R_between=0.9").status == 0
    assert clinometer(*limited, "R_between=0.0001").status == 1


def test_what_is_not_measured_cannot_be_limited() -> None:
    report = decompose_grid(read_preferences([[0.9, 0.1], [0.8, 0.2]]))
    with pytest.raises(SettingsError, match="R_between of m is not measured"):
        exceeded("m", report, [("R_between", 0.1)], "low")
    assert "its value (no interval)" in exceeded("m", report, [("R", 0.1)], "low")[0]


def test_coverage_can_be_demanded() -> None:
    counts = {"cells": 10, "cells_low_coverage": 2, "cells_missing": 1}
    assert uncovered("m", counts, None) == []
    assert uncovered("m", counts, 0.7) == []
    assert "70.0 % of the cells" in uncovered("m", counts, 0.75)[0]


@pytest.mark.parametrize("how", [{"relative": True}, {"sampled": True}])
def test_limits_on_numbers_that_will_not_be_known_are_refused(how: dict[str, bool]) -> None:
    asked = {"relative": False, "sampled": False, **how}
    check_measured([("R", 0.4), ("other", 0.5)], **asked)
    with pytest.raises(SettingsError, match="R_between"):
        check_measured([("R_between", 0.1)], **asked)
