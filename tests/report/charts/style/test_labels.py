"""Numbers in points and the key of their names."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from clinometer.report import charts
from clinometer.report.figure import to_svg


def plane(n: int, width: int) -> str:
    table = pd.DataFrame(
        {"name": [f"model {i}" for i in range(n)], "R_bias": 0.3, "R_volatility": 0.1}
    )
    return to_svg(charts.plane(table, width=width))


def texts(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
def test_every_point_has_a_number_and_the_key_its_name(width: int) -> None:
    for n in (2, 20):
        svg = texts(plane(n, width))
        assert {f"{i + 1}\u2002model {i}" for i in range(n)} <= set(svg)
        assert {str(i + 1) for i in range(n)} <= set(svg)
