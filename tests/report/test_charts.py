"""Charts as functions of tables: valid, of the width asked for, escaped, and drawn right."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from tests.present import present
from tests.report.made import HOSTILE, made_run
from tests.report.pixels import stays_in_font

from clinometer.display.text import brief
from clinometer.report import charts
from clinometer.report.charts.one_model import heat_png
from clinometer.report.charts.style import PALETTE, category_colours, distinct
from clinometer.report.figure import inline, small_signs, to_svg
from clinometer.report.figures import factor_figure, regression_line, risks_figure

NAMES = ["a model", *HOSTILE[:4]]
TWO = ("male", "female")
rng = np.random.default_rng(0)

RISKS = pd.DataFrame(
    {
        "name": NAMES,
        "R": [0.5, 0.4, 0.3, 0.2, 0.1],
        "R_bias": [0.4, 0.2, 0.3, 0.1, 0.0],
        "R_volatility": [0.1, 0.2, 0.0, 0.1, 0.1],
        "R_low": [0.4, None, 0.2, 0.1, 0.0],
        "R_high": [0.6, None, 0.4, 0.3, 0.2],
    }
)
GROUPS = [f"group {i}" for i in range(20)]
LEANINGS = pd.DataFrame(
    [(m, c, g, rng.normal()) for m in NAMES for c in TWO for g in GROUPS],
    columns=["model", "category", "group", "s"],
).assign(s=lambda t: t["s"].clip(-1, 1))
MANY = pd.DataFrame(
    [("m", c, g, rng.normal()) for c in "abcde" for g in GROUPS],
    columns=["model", "category", "group", "s"],
)
AT = np.linspace(-1, 1, 50)
CURVES = pd.DataFrame({"curve": ["all groups"] * 50, "s": AT, "density": np.exp(-AT * AT)})
SHAPES = pd.DataFrame(
    {
        "measure": ["r_bias"] * 20 + ["r_volatility"] * 20,
        "group": GROUPS * 2,
        "value": rng.random(40),
    }
)
COVERAGE = pd.DataFrame(
    {"left": [1e-4, 1e-3, 1e-2, 0.1], "right": [1e-3, 1e-2, 0.1, 1], "count": range(4)}
)
CONVERGENCE = pd.DataFrame(
    [(m, n, 0.3, 0.2, 0.4) for m in ("R", "R_bias", "R_volatility") for n in (2, 10, 50)],
    columns=["measure", "n", "value", "low", "high"],
)
SCATTER = pd.DataFrame({"group": GROUPS, "x": range(20), "y": rng.random(20), "size": range(1, 21)})
LINE = pd.DataFrame({"x": [0, 19], "y": [0.4, 0.6], "low": [0.3, 0.5], "high": [0.5, 0.7]})
DIFFERENCES = pd.DataFrame(
    {
        "pair": ["a − b"] * 3,
        "measure": ["R", "R_bias", "R_volatility"],
        "value": [0.1, -0.1, 0.2],
        "low": [0.0, None, 0.1],
        "high": [0.2, None, 0.3],
    }
)
TREND = pd.DataFrame(
    [("s", 1e6, m) for m in ("R", "R_bias", "R_volatility")] + [("l", 1e8, "R")],
    columns=["name", "x", "measure"],
).assign(value=0.3, low=0.2, high=0.4)
KNOWLEDGE = pd.DataFrame(
    {
        "name": NAMES,
        "relation": "capitals",
        "knowledge": 0.4,
        "knowledge_low": 0.3,
        "knowledge_high": 0.5,
        "deterministic": 0.6,
        "chance": 0.1,
    }
)
ANSWERS = pd.DataFrame(
    [
        (g, f"The [X] said {t} that [Y]", "male", 0.4, 0.7)
        for t in HOSTILE[:3]
        for g in HOSTILE[1:6]
    ],
    columns=["group", "template", "leans", "strength", "p"],
)
LEANS = pd.DataFrame(
    {
        "group": [*HOSTILE, *GROUPS],
        "share": rng.random(28),
        "low": 0.0,
        "high": 1.0,
        "mean_low": [0.3, None] * 14,
        "mean_high": [0.6, None] * 14,
        "favoured": "male",
        "clear": [True, False] * 14,
        "about": "in words",
    }
)
SHARES = pd.concat([LEANS.assign(category=c, share=0.5) for c in TWO])
SPREAD = pd.concat([LEANS.assign(number=i, ink="#111111", share=i / 3) for i in (1, 2)])
STABLE = pd.DataFrame(
    {"text": HOSTILE, "stability": rng.random(8), "low": [0.1, None] * 4, "high": [0.9, None] * 4}
)
X, C = 30, 50

PARTS = pd.DataFrame(
    {
        "name": ["a", "b", "a model with a name of some length"],
        "size": [0.4, 0.6, 1.0],
        "lean": [0.2, 0.05, 0.0],
        "swing": [0.3, 0.05, 0.01],
        "dice": [0.5, 0.9, 0.99],
        "group": [0.4, 0.3, float("nan")],
        "edit": [0.9, 0.2, float("nan")],
    }
)

ALL: dict[str, Callable[[int], Any]] = {
    "leans": lambda w: charts.leans(LEANS, categories=TWO, width=w),
    "departures": lambda w: charts.departures(
        LEANS.drop(columns=["low", "high"]).assign(
            panel=["First name"] * 6 + ["Surname"] * 14 + ["Description"] * 8,
            share=LEANS["share"] - 0.5,
        ),
        colours=("#111111", "#222222"),
        ends=TWO,
        unit="percentage points from the average",
        width=w,
    ),
    "shares": lambda w: charts.shares(SHARES, categories=TWO, width=w),
    "spread": lambda w: charts.spread(SPREAD, category="female", reference=(0.4, "mean"), width=w),
    "stacked": lambda w: charts.stacked(RISKS, width=w),
    "stacked with intervals": lambda w: charts.stacked(RISKS, width=w, limit=None),
    "ranked": lambda w: charts.ranked(RISKS.assign(ink="#111111", chance_low=0.1), width=w),
    "components": lambda w: charts.components(PARTS, unit="points", width=w),
    "components without edits": lambda w: charts.components(
        PARTS.assign(edit=float("nan")), unit="points", width=w
    ),
    "intervals": lambda w: charts.intervals(RISKS, width=w),
    "boxes": lambda w: charts.boxes(LEANINGS, categories=TWO, width=w),
    "boxes of five": lambda w: charts.boxes(MANY, categories=tuple("abcde"), width=w),
    "density": lambda w: charts.density(
        CURVES,
        categories=TWO,
        category="male",
        width=w,
        means=pd.DataFrame({"curve": ["all groups"], "mean": [0.1]}),
    ),
    "shapes": lambda w: charts.shapes(SHAPES, width=w),
    "coverage": lambda w: charts.coverage(COVERAGE, threshold=1e-3, width=w),
    "convergence": lambda w: charts.convergence(CONVERGENCE, width=w),
    "plane": lambda w: charts.plane(RISKS, width=w),
    "plane of series": lambda w: charts.plane(
        RISKS.assign(series=list("aabbb"), order=range(5)), width=w
    ),
    "plane of twenty": lambda w: charts.plane(pd.concat([RISKS] * 4), width=w),
    "trend": lambda w: charts.trend(TREND, x_title="parameters", width=w),
    "knowledge": lambda w: charts.knowledge(KNOWLEDGE, width=w),
    "answers": lambda w: charts.answers(ANSWERS, categories=TWO, width=w),
    "regression": lambda w: charts.regression(SCATTER, LINE, factor="pay", size="people", width=w),
    "differences": lambda w: charts.differences(DIFFERENCES, width=w),
    "least_stable": lambda w: charts.least_stable(STABLE, width=w),
    "heat_map": lambda w: charts.heat_map(
        rng.random((X, C)),
        rng.integers(0, 2, (X, C)),
        groups=[*HOSTILE, *GROUPS, "u", "v"][:X],
        contexts=[str(i) for i in range(C)],
        categories=TWO,
        width=w,
    ),
}


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
@pytest.mark.parametrize("name", ALL)
def test_each_chart_is_valid_and_fits(name: str, width: int) -> None:
    chart = ALL[name](width)
    chart.to_dict()  # Altair's own check against the schema of Vega-Lite
    svg = to_svg(chart)
    found = present(re.search(r'width="([\d.]+)"', svg))
    assert 0.6 * width < float(found[1]) <= width * 1.04 + 12
    body = inline(svg, key=name.replace(" ", "-"), label="x")
    ElementTree.fromstring(body.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))  # noqa: S314  (our own text)
    assert "<script" not in body
    assert "<img" not in body
    assert 'role="graphics' not in body
    assert "var(--" in body
    texts = ElementTree.fromstring(svg).iterfind(".//{*}text")  # noqa: S314
    signs = {sign for text in texts for line in text.itertext() for sign in line}
    assert [sign for sign in signs if small_signs(sign) != sign or not stays_in_font(sign)] == []


def test_every_light_colour_is_distinct() -> None:
    light = [pair[0] for pair in PALETTE.values()]
    assert len(set(light)) == len(light)


def contrast(a: str, b: str) -> float:
    def luminance(colour: str) -> float:
        parts = [v / 255 for v in bytes.fromhex(colour[1:])]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_colours_contrast_with_the_page(shade: int) -> None:
    page = PALETTE["page"][shade]
    for name, colours in PALETTE.items():
        if name in ("page", "wash", "line"):
            continue
        # WCAG: 4.5 for text, 3 for marks; the amber of volatility is a fill beside its label.
        least = 4.5 if name in ("ink", "soft", "bias") else 2.3 if name == "volatility" else 3.0
        assert contrast(colours[shade], page) >= least, name


def simulated(colour: str, missing: str) -> np.ndarray:
    """A colour as people without red or green cones see it (Viénot, Brettel and Mollon 1999)."""
    rgb = np.array([v / 255 for v in bytes.fromhex(colour[1:])]) ** 2.2
    seen = {
        "red": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        "green": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    }[missing]
    return np.asarray(seen) @ rgb


@pytest.mark.parametrize("missing", ["red", "green"])
@pytest.mark.parametrize("pair", [("bias", "volatility"), ("c0", "c1")])
def test_pairs_that_carry_meaning_differ_without_red_or_green(
    pair: tuple[str, str], missing: str
) -> None:
    for shade in (0, 1):
        a, b = (simulated(PALETTE[name][shade], missing) for name in pair)
        assert np.abs(a - b).max() > 0.1


def test_the_heat_map_has_one_pixel_per_cell() -> None:
    strength = np.array([[1.0, 0.0], [np.nan, 0.5]])
    png = heat_png(strength, np.array([[0, 1], [1, 1]]), category_colours(2))
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (2, 2)
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        chunks[png[at + 4 : at + 8]] = png[at + 8 : at + 8 + length]
        at += length + 12
    rows = zlib.decompress(chunks[b"IDAT"])
    index = [list(rows[i * 3 + 1 : i * 3 + 3]) for i in range(2)]
    alpha = [[chunks[b"tRNS"][i] for i in row] for row in index]
    assert alpha == [[255, 0], [0, 128]] or alpha == [[255, 0], [0, 127]]
    purple = bytes.fromhex(PALETTE["c0"][0][1:])
    assert chunks[b"PLTE"][index[0][0] * 3 : index[0][0] * 3 + 3] == purple


def test_a_standalone_chart_carries_its_n() -> None:
    figure = risks_figure([made_run(None, groups=5, contexts=9)], ["m"])
    svg = figure.svg()
    assert "effective" in svg
    assert "Risk and its two parts" in svg
    assert figure.png()[:4] == b"\x89PNG"


def test_labels_are_shortened_and_stay_distinct() -> None:
    assert brief("x" * 100, 10) == "x" * 9 + "…"
    assert distinct(["y" * 99, "y" * 98, "z"], 10) == ["y" * 9 + "…", "y" * 9 + "… (2)", "z"]


def test_the_band_contains_the_line_and_is_narrowest_near_the_middle() -> None:
    x = np.arange(40.0)
    y = 0.2 + 0.01 * x + np.random.default_rng(1).normal(0, 0.05, 40)
    line = regression_line(y, x)
    width = (line["high"] - line["low"]).to_numpy()
    assert 8 < width.argmin() < 16
    np.testing.assert_allclose(np.diff(line["y"], 2), 0, atol=1e-12)
    figure = factor_figure(y, x, factor="percent_women", groups=[str(i) for i in x])
    assert "n = 40 groups" in figure.caption


def test_the_band_matches_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    x, w = rng.random(30), rng.random(30) + 0.1
    y = x + rng.normal(0, 0.2, 30)
    line = regression_line(y, x, weights=w)
    fit = sm.WLS(y, sm.add_constant(x), weights=w).fit(cov_type="HC3", use_t=True)
    there = fit.get_prediction(sm.add_constant(line["x"].to_numpy())).summary_frame(alpha=0.05)
    np.testing.assert_allclose(line["low"], there["mean_ci_lower"], rtol=1e-6)
    np.testing.assert_allclose(line["high"], there["mean_ci_upper"], rtol=1e-6)
