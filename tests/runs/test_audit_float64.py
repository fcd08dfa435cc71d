"""Preferences of an audit with default settings against plain calls in float64.

`benchmarks/float64.py` does it for 23 architectures.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.float64 import compared
from tests.models import zoo


@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_no_cell_is_off_by_more_than_its_bound(family: str, tmp_path: Path) -> None:
    zoo.make(family, tmp_path)
    found = compared(family, tmp_path, 2)
    assert found["cells"] == 10
    assert found["cells with skipped words"] > 0  # there is something to bound
    assert found["bound"] <= 1e-3  # the default tolerance
    assert found["beyond its bound"] < 5e-6  # float32's rounding
    assert found["R beyond its bound"] < 5e-6
