"""Photograph the first screen of a report, light and dark: python docs/build_pictures.py RUN

Writes docs/static/report.png and report-dark.png, in 256 colours, each under 300 kB.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import clinometer as cm

STATIC = Path(__file__).parent / "static"
WIDTH, HEIGHT = 1280, 800


def main(run: str) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = cm.Run.load(run).write_report(Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme
            )
            page.goto(page_file.as_uri())
            small(page.screenshot(), STATIC / name)
        browser.close()


def small(png: bytes, path: Path) -> None:
    """Write the picture with a palette."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
