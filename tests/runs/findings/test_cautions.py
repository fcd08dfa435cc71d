"""What a reader is warned of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from clinometer.runs.findings.cautions import cautions
from clinometer.runs.folder.record import RunRecord
from clinometer.runs.run import Run


@pytest.mark.parametrize(("low", "lines"), [(10, 0), (11, 1)])
def test_little_probability_is_worth_a_line_above_one_cell_in_a_hundred(
    low: int, lines: int
) -> None:
    record: Any = SimpleNamespace(
        counts={"cells": 1000, "cells_low_coverage": low},
        settings=SimpleNamespace(coverage_threshold=0.01),
        words=None,
    )
    risks = SimpleNamespace(missing_groups=(), groups=("g",))
    run = cast(Run, SimpleNamespace(record=cast(RunRecord, record), risks=risks))
    assert len(cautions(run)) == lines
