"""Numbers in points and the key of their names."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from tests.report.pixels import drawn

from clinometer.report import charts
from clinometer.report.charts.style import text_width
from clinometer.report.figure import to_svg


@pytest.mark.parametrize("text", ["pocket:gpt2-m before", "WMWM", "illi.:", "20"])
def test_estimated_text_width_is_close_to_the_rendered_width(text: str) -> None:
    ink = np.flatnonzero(drawn(text).any(axis=0))
    wide = (ink[-1] - ink[0]) / 2  # drawn() draws at twice the size
    assert wide <= text_width(text) <= 1.35 * wide + 8


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


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
def test_of_points_beside_each_other_one_is_named(width: int) -> None:
    groups = ["left", "same", "right"]
    table = pd.DataFrame({"group": groups, "x": [10.0, 10.0, 90.0], "y": [0.5, 0.501, 0.1]})
    line = pd.DataFrame({"x": [0.0, 100.0], "y": 0.3, "low": 0.2, "high": 0.4})
    svg = to_svg(charts.regression(table, line, factor="pay", width=width))
    assert set(groups) & set(texts(svg)) == {"same", "right"}
