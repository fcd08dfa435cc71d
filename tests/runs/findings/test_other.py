"""Answers that fit no category."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from clinometer.runs.findings.other import other
from clinometer.runs.folder.record import OtherRecord, RunRecord


@pytest.mark.parametrize(("most", "is_named"), [(0.14, False), (0.16, True)])
def test_a_group_is_named_that_has_more_than_five_points_above_all(
    most: float, is_named: bool
) -> None:
    share = OtherRecord(share=0.1, most=most, most_group="nurse")
    record = cast(RunRecord, SimpleNamespace(other=share, replies={}))
    finding = other(record)
    assert finding is not None
    assert ("most" in finding.words) == is_named
