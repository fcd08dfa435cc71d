"""What browser tests share: a watched page, real pixels, axe."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.components import require
from tests.processes import PATIENCE_S

PHONE = {"width": 375, "height": 700}
#: A window of 1,280 × 1,024 at 400 % zoom has room for this many CSS pixels (WCAG 1.4.10).
ZOOMED = {"width": 320, "height": 256}

_COUNT = """async ([data, rgb, near]) => {
  const image = new Image();
  image.src = "data:image/png;base64," + data;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const pixels = pen.getImageData(0, 0, image.width, image.height).data;
  let count = 0;
  for (let i = 0; i < pixels.length; i += 4)
    count += [0, 1, 2].every((k) => Math.abs(pixels[i + k] - rgb[k]) <= near);
  return count;
}"""


@dataclass
class Watched:
    """A page, what it asked for, and what went wrong in it."""

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def watched(browser: Any, **options: Any) -> Watched:
    """A new page that writes down each request, console error and exception."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_S * 1000)
    page = context.new_page()
    found = Watched(page)
    page.on("request", lambda r: found.requests.append(r.url))
    page.on(
        "console", lambda m: found.errors.append(m.text) if m.type == "error" else None
    )
    page.on("pageerror", lambda e: found.errors.append(str(e)))
    return found


def settled(page: Any) -> None:
    """After whatever was waiting to run in the page: a drawn frame, and the tasks behind it."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
    )


def pixels(browser: Any, shot: bytes, colour: str, *, near: int = 12) -> int:
    """How many pixels of a screenshot have (nearly) this colour, counted by the browser itself."""
    page = browser.new_page()
    try:
        rgb = list(bytes.fromhex(colour.removeprefix("#")))
        data = base64.b64encode(shot).decode()
        return int(page.evaluate(_COUNT, [data, rgb, near]))
    finally:
        page.close()


def axe_problems(page: Any) -> list[str]:
    """Serious and critical findings of axe-core, one line each."""
    # evaluate, not a script tag: the pages' own policy lets no foreign script in.
    page.evaluate(Path(require("axe-core")).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{v['impact']}: {v['id']}: {v['nodes'][0]['html'][:160]}"
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]


def overflow(page: Any) -> int:
    """How many pixels the page is wider than its window."""
    width = (
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return int(page.evaluate(width))
