"""Names beside points: where they stand, and numbers where there is no room."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from tests.report.pixels import drawn

from clinometer.report import charts
from clinometer.report.charts.style import Box, LabelPosition, Plot, place_labels, text_width
from clinometer.report.figure import to_svg

SIZE = (640.0, 320.0)
NO_LINES = np.empty((0, 4))


def placed(
    dots: np.ndarray, widths: float = 90.0, lines: np.ndarray = NO_LINES
) -> list[LabelPosition]:
    n = len(dots)
    return place_labels(dots, np.full(n, 6.0), range(n), np.full(n, widths), plot=SIZE, lines=lines)


def cover(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("n", [1, 2, 7, 20])
@pytest.mark.parametrize("spread", [12.0, 60.0, 150.0])
def test_placed_labels_overlap_nothing_and_stay_inside(n: int, spread: float) -> None:
    rng = np.random.default_rng(n)
    dots = np.clip(rng.normal((320, 160), spread, (n, 2)), 7, (633, 313))
    places = placed(dots)
    clear = [p for p in places if p.clear]
    assert clear
    assert len(clear) == n or spread == 12 or n == 20
    for a, b in combinations(clear, 2):
        assert not cover(a.box, b.box)
    for place in clear:
        assert 0 <= place.box[0] < place.box[2] <= SIZE[0]
        assert 0 <= place.box[1] < place.box[3] <= SIZE[1]
        for x, y in dots:
            assert not cover(place.box, (x - 6, y - 6, x + 6, y + 6))


def test_a_label_is_next_to_its_own_point() -> None:
    dots = np.array([[300.0, 150.0], [318.0, 156.0]])
    for place, (x, y) in zip(placed(dots), dots, strict=True):
        assert place.clear
        assert place.join is None
        assert np.hypot(place.at[0] - x, place.at[1] - y) < 20
    left, right = placed(dots)
    assert left.at[0] < right.at[0]  # each on its own side


def test_labels_at_one_point_are_separated() -> None:
    a, b = placed(np.array([[300.0, 150.0]] * 2))
    assert a.clear
    assert b.clear
    assert not cover(a.box, b.box)


def test_a_label_avoids_a_line() -> None:
    through = np.array([[0.0, 150.0, 640.0, 150.0], [300.0, 0.0, 300.0, 320.0]])
    (place,) = placed(np.array([[300.0, 150.0]]), lines=through)
    left, top, right, bottom = place.box
    assert not top < 150 < bottom
    assert not left < 300 < right


def test_a_label_that_fits_nowhere_is_not_placed() -> None:
    assert not placed(np.array([[300.0, 150.0]]), widths=700.0)[0].clear
    assert not all(p.clear for p in placed(np.array([[300.0, 150.0]] * 40)))


@pytest.mark.parametrize("log_x", [False, True])
def test_pixels_and_values_are_inverses(log_x: bool) -> None:
    plot = Plot((1.0, 100.0), (0.0, 0.5), 600, 300, log_x=log_x)
    at = plot.pixels([10.0, 1.0], [0.25, 0.5])
    np.testing.assert_allclose(at[1], [0, 0], atol=1e-9)
    np.testing.assert_allclose(at[0, 0], 300 if log_x else 600 / 11, rtol=1e-9)
    np.testing.assert_allclose(np.stack(plot.values(at)), [[10.0, 1.0], [0.25, 0.5]])


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
def test_two_names_are_labelled_in_the_plot_and_twenty_in_a_key(width: int) -> None:
    two = texts(plane(2, width))
    assert {"model 0", "model 1"} <= set(two)
    twenty = texts(plane(20, width))
    assert "1–20" in twenty  # all at one place: one label
    assert {f"{i + 1}\u2002model {i}" for i in range(20)} <= set(twenty)
    assert "model 0" not in twenty
