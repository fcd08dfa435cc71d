"""Charts as functions of tables: valid, of the width asked for, escaped, and drawn right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
from tests.present import present
from tests.report.made import HOSTILE

from clinometer.display.text import brief
from clinometer.report import Figure
from clinometer.report.charts.answers import answers_chart
from clinometer.report.charts.arrows import arrows_chart
from clinometer.report.charts.axes import distance_axis, share_axis
from clinometer.report.charts.cobias import (
    cobias_chart,
    disagreements_chart,
    growing_dissimilarity_chart,
)
from clinometer.report.charts.density import density_chart
from clinometer.report.charts.look import NARROW, WIDE
from clinometer.report.charts.marks import distinct
from clinometer.report.charts.plane import plane_chart
from clinometer.report.charts.points import Panel, points_chart
from clinometer.report.charts.regression import regression_chart
from clinometer.report.charts.risks import differences_chart, risks_chart
from clinometer.report.charts.shares import shares_chart
from clinometer.report.charts.spread import spread_chart
from clinometer.report.charts.trend import trend_chart
from clinometer.report.figures.factor import factor_figure, regression_line
from clinometer.report.svg import inline, small_signs, to_svg

ROOT = Path(__file__).resolve().parents[2]
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
AT = np.linspace(-1, 1, 50)
CURVES = pd.DataFrame(
    {"curve": ["all groups"] * 50, "s": AT, "density": np.exp(-AT * AT)}
)
SCATTER = pd.DataFrame(
    {"group": GROUPS, "x": range(20), "y": rng.random(20), "size": range(1, 21)}
)
LINE = pd.DataFrame(
    {"x": [0, 19], "y": [0.4, 0.6], "low": [0.3, 0.5], "high": [0.5, 0.7]}
)
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
        "name": [*HOSTILE, *GROUPS],
        "value": rng.random(28),
        "range_low": 0.0,
        "range_high": 1.0,
        "low": [0.3, None] * 14,
        "high": [0.6, None] * 14,
        "ink": "#111111",
        "clear": [True, False] * 14,
        "about": "in words",
    }
)
EACH = LEANS.rename(columns={"name": "group"})
SHARES = pd.concat([EACH.assign(category=c, share=0.5) for c in TWO])
SPREAD = pd.concat([EACH.assign(number=i, share=i / 3) for i in (1, 2)])
ENDS = {"cobias_low": [0.1, None] * 4, "cobias_high": [0.9, None] * 4}
LOWEST = pd.DataFrame({"text": HOSTILE, "cobias": rng.random(8), **ENDS})
DIFFERING = pd.DataFrame(
    {"annotator": HOSTILE, "majority": ["no", "yes"] * 4, "disagreements": 3}
)
GROWING = pd.DataFrame({"n": [2, 3, 4], "dissimilarity": [0.1, 0.2, 0.2]})
GROWING = GROWING.assign(dissimilarity_low=0.05, dissimilarity_high=0.3)
PARTS = pd.DataFrame(
    [
        (name, panel, 0.4, low, 0.6, True, "0.40 points")
        for name in NAMES
        for panel, low in (("Steady lean", 0.1), ("Dice", None))
    ],
    columns=["name", "panel", "value", "low", "high", "clear", "text"],
)
FIXES = pd.DataFrame(
    [
        ("names left out", "lean", 3.0, 1.0, 0.5, 1.4, "yes", "no"),
        ("other words", "lean", 3.0, 3.2, None, None, "no", "yes"),
        ("names left out", "dice", 1.0, 1.4, 1.1, 2.0, "yes", "no"),
    ],
    columns=["fix", "part", "from", "to", "to_low", "to_high", "clear", "control"],
)
PANELS = [
    Panel("Steady lean", "the same in every job", "#1d5f9e"),
    Panel("Dice", end=2.0),
]

ALL: dict[str, Callable[[int], Any]] = {
    "points of shares": lambda w: points_chart(
        LEANS, axis=partial(share_axis, ends=TWO), faint=True, width=w
    ),
    "points from the mean": lambda w: points_chart(
        LEANS.drop(columns=["range_low", "range_high"]).assign(
            panel=["First name"] * 6 + ["Surname"] * 14 + ["Description"] * 8,
            value=LEANS["value"] - 0.5,
        ),
        axis=partial(
            distance_axis, ends=TWO, unit="percentage points from the average"
        ),
        width=w,
    ),
    "shares": lambda w: shares_chart(SHARES, categories=TWO, width=w),
    "spread": lambda w: spread_chart(
        SPREAD, category="female", reference=(0.4, "mean"), width=w
    ),
    "points from zero": lambda w: points_chart(PARTS, panels=PANELS, width=w),
    "points before chance": lambda w: points_chart(
        PARTS.assign(chance_low=0.2, chance_high=0.5, pale=True), panels=PANELS, width=w
    ),
    "risks": lambda w: risks_chart(RISKS, width=w),
    "cobias": lambda w: cobias_chart(LOWEST, width=w),
    "disagreements": lambda w: disagreements_chart(DIFFERING, width=w),
    "growing_dissimilarity": lambda w: growing_dissimilarity_chart(GROWING, width=w),
    "density": lambda w: density_chart(
        CURVES,
        categories=TWO,
        category="male",
        width=w,
        means=pd.DataFrame({"curve": ["all groups"], "mean": [0.1]}),
    ),
    "arrows": lambda w: arrows_chart(FIXES, width=w),
    "plane": lambda w: plane_chart(RISKS, width=w),
    "plane of twenty": lambda w: plane_chart(pd.concat([RISKS] * 4), width=w),
    "trend": lambda w: trend_chart(TREND, x_title="parameters", width=w),
    "answers": lambda w: answers_chart(ANSWERS, categories=TWO, width=w),
    "regression": lambda w: regression_chart(
        SCATTER, LINE, factor="pay", size="people", width=w
    ),
    "differences": lambda w: differences_chart(DIFFERENCES, width=w),
}


@cache
def schema() -> dict[str, Any]:
    """Of Vega-Lite, as Altair brings it: what the renderer does not know, it ignores."""
    file = resources.files("altair.vegalite.v6.schema") / "vega-lite-schema.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))


def test_every_chart_has_a_row_in_the_docs() -> None:
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    files = (ROOT / "src" / "clinometer" / "report" / "charts").glob("*.py")
    source = "".join(file.read_text("utf-8") for file in files)
    for name in re.findall(r"^def ([a-z]\w*_chart)\(", source, re.M):
        assert f"| `{name}(table" in page, name


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", ALL)
def test_each_chart_is_valid_and_fits(name: str, width: int) -> None:
    chart = ALL[name](width)
    jsonschema.Draft7Validator(schema()).validate(chart)
    svg = to_svg(chart)
    found = present(re.search(r'width="([\d.]+)"', svg))
    assert 0.6 * width < float(found[1]) <= width * 1.04 + 12
    body = inline(svg, key=name.replace(" ", "-"), label="x")
    named = body.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    ElementTree.fromstring(named)  # noqa: S314  (our own text)
    assert "<script" not in body
    assert "<img" not in body
    assert 'role="graphics' not in body
    assert "var(--" in body
    texts = ElementTree.fromstring(svg).iterfind(".//{*}text")  # noqa: S314
    signs = {
        escape(sign) for text in texts for line in text.itertext() for sign in line
    }
    assert [sign for sign in signs if small_signs(sign) != sign] == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("end", [0.004, 0.4, 4.0, 42.0, 420.0, 42_000.0])
def test_an_axis_has_numbers_as_people_write_them(end: float, width: int) -> None:
    """Percentage points and salaries stood there as 2e+1 and 4e+4."""
    table = PARTS.assign(value=end / 2, low=end / 4, high=end)
    for panels in (PANELS[:1], [Panel("Steady lean"), Panel("Dice")]):
        names = [panel.name for panel in panels]
        svg = to_svg(
            points_chart(table[table["panel"].isin(names)], panels=panels, width=width)
        )
        texts = ElementTree.fromstring(svg).iterfind(".//{*}text")  # noqa: S314
        said = {"".join(text.itertext()) for text in texts}
        ticks = {
            float(one.replace(",", "")) for one in said if re.fullmatch(r"[\d.,]+", one)
        }
        assert len(ticks) >= 3, said
        assert max(ticks) >= end / 2
        assert not [one for one in said if re.search(r"\de[+−-]", one)]


@pytest.mark.parametrize("name", ["gamma", "mmm", "WWWW", "ill", "Wim Wenders"])
def test_a_short_name_is_not_cut(name: str) -> None:
    svg = to_svg(points_chart(PARTS.assign(name=name), panels=PANELS))
    assert f">{name}<" in svg


def test_labels_are_shortened_and_stay_distinct() -> None:
    assert brief("x" * 100, 10) == "x" * 9 + "…"
    assert distinct(["y" * 99, "y" * 98, "z"], 10) == [
        "y" * 9 + "…",
        "y" * 9 + "… (2)",
        "z",
    ]


def test_a_slope_is_drawn_and_one_that_chance_explains_a_line_of_text() -> None:
    x = np.arange(40.0)
    y = 0.2 + 0.01 * x + np.random.default_rng(1).normal(0, 0.05, 40)
    groups = [str(i) for i in x]
    figure = factor_figure(y, x, factor="percent_women", groups=groups)
    assert isinstance(figure, Figure)
    assert "n = 40 groups" in figure.caption
    said = factor_figure(
        y - 0.01 * x, x, factor="percent_women", groups=groups, largest_p=1e-9
    )
    assert isinstance(said, str)
    assert "40 groups" in said


def test_the_band_matches_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    x, w = rng.random(30), rng.random(30) + 0.1
    y = x + rng.normal(0, 0.2, 30)
    line = regression_line(y, x, weights=w)
    fit = sm.WLS(y, sm.add_constant(x), weights=w).fit(cov_type="HC3", use_t=True)
    there = fit.get_prediction(sm.add_constant(line["x"].to_numpy())).summary_frame(
        alpha=0.05
    )
    np.testing.assert_allclose(line["low"], there["mean_ci_lower"], rtol=1e-6)
    np.testing.assert_allclose(line["high"], there["mean_ci_upper"], rtol=1e-6)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_point_has_a_number_and_the_key_its_name(width: int) -> None:
    for n in (2, 20):
        names = [f"model {i}" for i in range(n)]
        table = pd.DataFrame({"name": names, "R_bias": 0.3, "R_volatility": 0.1})
        texts = set(
            re.findall(r">([^<>]+)</text>", to_svg(plane_chart(table, width=width)))
        )
        assert {f"{i + 1}\u2002{name}" for i, name in enumerate(names)} <= texts
        assert {str(i + 1) for i in range(n)} <= texts
