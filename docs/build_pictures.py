"""Photograph the first screen of a report, light and dark: python docs/build_pictures.py RUN

Writes docs/static/report.png and report-dark.png, in 256 colours, each under 300 kB. With a second
RUN, one with a strong finding, also its headline and chart for the first page: finding.svg and
finding-phone.svg, each light and dark.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import clinometer as cm
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.look import NARROW, PALETTE, WIDE
from clinometer.report.figures.groups import leans_figure

STATIC = Path(__file__).parent / "static"
WIDTH, HEIGHT = 1280, 800


def main(run: str) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (page_file,) = cm.Run.load(run).write_report(Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme
            )
            page.goto(page_file.as_uri())
            small(page.screenshot(), STATIC / name)
        browser.close()


def draw_finding(run: str) -> None:
    found = cm.Run.load(run)
    chart = leans_figure(CellStatistics(found))
    chart = replace(chart, title=found.findings[0].text)
    for name, width in (("finding", WIDE), ("finding-phone", NARROW)):
        light = chart.svg(width)
        dark = light
        for before, after in PALETTE.values():
            dark = dark.replace(before, after)
        (STATIC / f"{name}.svg").write_text(light, encoding="utf-8")
        (STATIC / f"{name}-dark.svg").write_text(dark, encoding="utf-8")


def small(png: bytes, path: Path) -> None:
    """Write the picture with a palette."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
    for strong in sys.argv[2:]:
        draw_finding(strong)
