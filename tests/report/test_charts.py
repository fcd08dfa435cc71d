"""Charts as functions of tables: valid, of the width asked for, escaped, and drawn right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from html import escape
from importlib import resources
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
from tests.present import present
from tests.report.made import HOSTILE

from clinometer.display.text import brief
from clinometer.report import Figure, charts
from clinometer.report.charts import PALETTE, distinct
from clinometer.report.figure import inline, small_signs, to_svg
from clinometer.report.figures import factor_figure, regression_line

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
PANELS = [
    charts.Panel("Steady lean", "the same in every job", "#1d5f9e"),
    charts.Panel("Dice", end=2.0),
]

ALL: dict[str, Callable[[int], Any]] = {
    "points of shares": lambda w: charts.points(
        LEANS, axis=partial(charts.share_axis, ends=TWO), faint=True, width=w
    ),
    "points from the mean": lambda w: charts.points(
        LEANS.drop(columns=["range_low", "range_high"]).assign(
            panel=["First name"] * 6 + ["Surname"] * 14 + ["Description"] * 8,
            value=LEANS["value"] - 0.5,
        ),
        axis=partial(
            charts.away_axis, ends=TWO, unit="percentage points from the average"
        ),
        width=w,
    ),
    "shares": lambda w: charts.shares(SHARES, categories=TWO, width=w),
    "spread": lambda w: charts.spread(
        SPREAD, category="female", reference=(0.4, "mean"), width=w
    ),
    "points from zero": lambda w: charts.points(PARTS, panels=PANELS, width=w),
    "points before chance": lambda w: charts.points(
        PARTS.assign(chance_low=0.2, chance_high=0.5, pale=True), panels=PANELS, width=w
    ),
    "risks": lambda w: charts.risks(RISKS, width=w),
    "cobias": lambda w: charts.cobias(LOWEST, width=w),
    "disagreements": lambda w: charts.disagreements(DIFFERING, width=w),
    "growing_dissimilarity": lambda w: charts.growing_dissimilarity(GROWING, width=w),
    "density": lambda w: charts.density(
        CURVES,
        categories=TWO,
        category="male",
        width=w,
        means=pd.DataFrame({"curve": ["all groups"], "mean": [0.1]}),
    ),
    "plane": lambda w: charts.plane(RISKS, width=w),
    "plane of twenty": lambda w: charts.plane(pd.concat([RISKS] * 4), width=w),
    "trend": lambda w: charts.trend(TREND, x_title="parameters", width=w),
    "answers": lambda w: charts.answers(ANSWERS, categories=TWO, width=w),
    "regression": lambda w: charts.regression(
        SCATTER, LINE, factor="pay", size="people", width=w
    ),
    "differences": lambda w: charts.differences(DIFFERENCES, width=w),
}


@cache
def schema() -> dict[str, Any]:
    """Of Vega-Lite, as Altair brings it: what the renderer does not know, it ignores."""
    file = resources.files("altair.vegalite.v6.schema") / "vega-lite-schema.json"
    return dict(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
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


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
@pytest.mark.parametrize("end", [0.004, 0.4, 4.0, 42.0, 420.0, 42_000.0])
def test_an_axis_has_numbers_as_people_write_them(end: float, width: int) -> None:
    """Percentage points and salaries stood there as 2e+1 and 4e+4."""
    table = PARTS.assign(value=end / 2, low=end / 4, high=end)
    for panels in (PANELS[:1], [charts.Panel("Steady lean"), charts.Panel("Dice")]):
        names = [panel.name for panel in panels]
        svg = to_svg(
            charts.points(table[table["panel"].isin(names)], panels=panels, width=width)
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
    svg = to_svg(charts.points(PARTS.assign(name=name), panels=PANELS))
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


@pytest.mark.parametrize("width", [charts.WIDE, charts.NARROW])
def test_every_point_has_a_number_and_the_key_its_name(width: int) -> None:
    for n in (2, 20):
        names = [f"model {i}" for i in range(n)]
        table = pd.DataFrame({"name": names, "R_bias": 0.3, "R_volatility": 0.1})
        texts = set(
            re.findall(r">([^<>]+)</text>", to_svg(charts.plane(table, width=width)))
        )
        assert {f"{i + 1}\u2002{name}" for i, name in enumerate(names)} <= texts
        assert {str(i + 1) for i in range(n)} <= texts


# --- The palette: any two categories can be told apart, and every colour read as text ------------

#: Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB: the rows of each matrix.
SEEN_BY = {
    "everyone else": "1 0 0  0 1 0  0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  "
    "-0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  "
    "-0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602  "
    "0.004733 0.691367 0.303900",
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
CATEGORIES = [f"c{i}" for i in range(7)]
LEAST = 10.0  # CIEDE2000; about 2 is the least that people see side by side


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    t = (TO_XYZ @ rgb) / (TO_XYZ @ np.ones(3))
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(first: np.ndarray, second: np.ndarray) -> float:
    """CIEDE2000."""
    (L1, a1, b1), (L2, a2, b2) = first, second
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    grey = 0.5 * (1 - np.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = a1 * (1 + grey), a2 * (1 + grey)
    C1, C2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180
    dL, dC, dH = L2 - L1, C2 - C1, 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C, h = (L1 + L2) / 2, (C1 + C2) / 2, (h1 + turn / 2) % 360

    def cos(angle: float) -> float:
        return float(np.cos(np.radians(angle)))

    T = (
        1
        - 0.17 * cos(h - 30)
        + 0.24 * cos(2 * h)
        + 0.32 * cos(3 * h + 6)
        - 0.2 * cos(4 * h - 63)
    )
    SL = 1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2)
    SC, SH = 1 + 0.045 * C, 1 + 0.015 * C * T
    turned = 30 * np.exp(-(((h - 275) / 25) ** 2))
    RT = -np.sin(np.radians(2 * turned)) * 2 * np.sqrt(C**7 / (C**7 + 25**7))
    parts = dL / SL, dC / SC, dH / SH
    return float(np.sqrt(sum(p**2 for p in parts) + RT * parts[1] * parts[2]))


def contrast(first: str, second: str) -> float:
    """WCAG 2."""
    low, high = sorted(float(TO_XYZ[1] @ linear(c)) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_is_ciede2000() -> None:
    """Pairs 1, 7 and 20 of Sharma, Wu and Dalal (2005)."""
    known = [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, 2.5, 0.0), (50.0, 3.2592, 0.3350), 1.0),
    ]
    for first, second, expected in known:
        assert difference(np.array(first), np.array(second)) == pytest.approx(
            expected, abs=1e-4
        )


@pytest.mark.parametrize("eye", SEEN_BY)
@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_any_two_of_seven_categories_and_amber_can_be_told_apart(
    eye: str, shade: int
) -> None:
    matrix = np.array(SEEN_BY[eye].split(), float).reshape(3, 3)
    seen = {
        name: lab(np.clip(matrix @ linear(PALETTE[name][shade]), 0, 1))
        for name in [*CATEGORIES, "volatility"]
    }
    near = {(a, b): difference(seen[a], seen[b]) for a, b in combinations(seen, 2)}
    assert {pair: d for pair, d in near.items() if d < LEAST} == {}


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_every_colour_of_text_can_be_read(shade: int) -> None:
    page = PALETTE["page"][shade]
    assert len({pair[0] for pair in PALETTE.values()}) == len(
        PALETTE
    )  # pages search for each
    texts = [name for name in PALETTE if name not in ("page", "wash", "line")]
    ratios = {name: contrast(PALETTE[name][shade], page) for name in texts}
    assert ratios.pop("volatility") >= 2.3  # amber is a fill beside its label
    assert {name: r for name, r in ratios.items() if r < 4.5} == {}


def test_amber_is_volatility_alone() -> None:
    """In the styles, amber stands only where a class says volatility or swing."""
    for package, folder, name in (
        ("clinometer.report", "assets", "page.css"),
        ("clinometer.web", "static", "viewer.css"),
    ):
        css = (resources.files(package) / folder / name).read_text("utf-8")
        rules = [
            rule
            for rule in css.replace("}", "}\n").splitlines()
            if "--volatility" in rule
        ]
        for rule in rules:
            assert any(
                word in rule for word in (".v ", ".v:", ".v{", ".swing", ".volatility")
            ), rule
