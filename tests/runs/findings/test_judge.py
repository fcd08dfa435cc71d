"""A judge beside people's labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from clinometer.measure import Estimate
from clinometer.runs.findings.judge import judged
from clinometer.runs.folder.record import RunRecord


@pytest.mark.parametrize(
    ("p_value", "sure"), [(0.049, "unclear"), (0.051, "described"), (None, "described")]
)
def test_one_correction_is_not_enough_where_groups_clearly_differ(
    p_value: float | None, sure: str
) -> None:
    risks = SimpleNamespace(
        R=Estimate(0.3), R_bias=Estimate(0.2), R_volatility=Estimate(0.1)
    )
    calibration = SimpleNamespace(
        summary=risks, groups_alike=p_value, labels=100, agreement=0.9
    )
    finding = judged(cast(RunRecord, SimpleNamespace(calibration=calibration)))
    assert finding is not None
    assert finding.sure == sure
