"""A chart with its title, caption, text alternative and data."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from clinometer.display.text import proper, visible
from clinometer.report.charts.look import NARROW, WIDE, Spec, wrapped
from clinometer.report.svg import inline, to_png, to_svg
from clinometer.storage.rows import csv_text


@dataclass(frozen=True, eq=False)
class Figure:
    """One chart."""

    key: str
    """File name and id on a page: letters, digits, -"""

    title: str
    """What it shows, in words that readers remember."""

    caption: str
    """How to read it, and its basis (n, n_eff)."""

    alt: str
    """The text alternative, for those who cannot see it."""

    draw: Callable[[int], Spec]
    """width -> specification of Vega-Lite."""

    table: pd.DataFrame | None = field(default=None, repr=False)
    """The numbers behind it, if they are few enough to read."""

    def __post_init__(self) -> None:
        """Make the texts safe to show: names of groups, models and contexts are other people's."""
        for name in ("title", "caption", "alt"):
            object.__setattr__(self, name, proper(visible(getattr(self, name))))

    def inline(self, prefix: str = "") -> dict[str, str]:
        """Return the drawing embedded in a page, for wide and for narrow screens."""
        drawings = {}
        for size, width in (("wide", WIDE), ("narrow", NARROW)):
            svg = to_svg(self.draw(width))
            key = f"{prefix}{self.key}-{size}"
            drawings[size] = inline(svg, key=key, label=self.alt)
        return drawings

    def data_address(self) -> str:
        """Return the numbers behind the chart as a CSV file in a data address; "" where it has
        none."""
        if self.table is None:
            return ""
        data = base64.b64encode(csv_text(self.table).encode())
        return f"data:text/csv;base64,{data.decode()}"

    def spec(self, width: int = WIDE) -> Spec:
        """Return the chart alone, with title and caption in it: what a notebook shows, and what any
        tool for Vega-Lite opens."""
        title = {
            "text": wrapped(self.title, int(width / 1.4)),
            "subtitle": wrapped(self.caption, width),
        }
        return {**self.draw(width), "title": title, "description": self.alt}

    def svg(self, width: int = WIDE) -> str:
        """Return the chart with title and caption as an SVG file."""
        return to_svg(self.spec(width))

    def _repr_svg_(self) -> str:
        """Return what a notebook shows."""
        return self.svg()

    def png(self, width: int = WIDE, *, scale: float = 2.0) -> bytes:
        """Return the chart with title and caption as a PNG file, on white."""
        spec = self.spec(width)
        spec["config"] = {**spec["config"], "background": "white"}
        return to_png(spec, scale=scale)


def chart(
    key: str,
    title: str,
    caption: str,
    table: pd.DataFrame,
    form: str,
    draw: Callable[..., Spec],
    **options: Any,
) -> Figure:
    """Return a chart of a table; `form` names the columns that its text alternative reads out."""
    words = "; ".join(form.format_map(row) for row in table.to_dict("records"))
    return Figure(
        key=key,
        title=title,
        caption=caption,
        alt=f"{title}. {words}.",
        draw=lambda width: draw(table, width=width, **options),
        table=table,
    )
