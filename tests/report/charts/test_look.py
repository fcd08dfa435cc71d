"""The palette: any two categories can be told apart, and every colour can be read as text."""

from __future__ import annotations

from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from clinometer.report.charts.look import PALETTE

SEEN_BY = {
    "everyone else": "1 0 0  0 1 0  0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  "
    "-0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  "
    "-0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602  "
    "0.004733 0.691367 0.303900",
}
"""Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB: the rows of each matrix."""

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
