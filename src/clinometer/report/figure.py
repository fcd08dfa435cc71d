"""A chart with everything a reader needs around it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from clinometer.report.charts.style.theme import NARROW, WIDE, wrap_axis_title
from clinometer.report.svg import inline, to_png, to_svg

if TYPE_CHECKING:
    import pandas as pd


Size = Literal["wide", "narrow"]

_SIZES: tuple[Size, ...] = ("wide", "narrow")

#: Altair keeps the data of the chart it is writing in a place that threads share: two charts
#: written at once come out with each other's bars.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, eq=False)
class Figure:
    """One chart.

    key      file name and id on a page: letters, digits, -
    title    what it shows, in words a reader takes away
    caption  how to read it, and what it rests on (n, n_eff)
    alt      what the picture says, for those who do not see it
    draw     width -> Altair chart
    table    the numbers behind it, if they are few enough to read
    """

    key: str
    title: str
    caption: str
    alt: str
    draw: Callable[[int], Any]
    table: pd.DataFrame | None = field(default=None, repr=False)

    def inline(self, prefix: str = "") -> dict[str, str]:
        """The drawing for the inside of a page, for wide and for narrow screens."""
        return {size: self.inline_one(size, prefix) for size in _SIZES}

    def inline_one(self, size: Size, prefix: str = "") -> str:
        with _ONE_AT_A_TIME:
            svg = to_svg(self.draw(WIDE if size == "wide" else NARROW))
        return inline(svg, key=f"{prefix}{self.key}-{size}", label=self.alt)

    def chart(self, width: int = WIDE) -> Any:
        """The chart alone, with title and caption in it: what a file or a notebook shows."""
        import altair as alt

        title = alt.TitleParams(
            wrap_axis_title(self.title, int(width / 1.25)),
            subtitle=wrap_axis_title(self.caption, width),
        )
        return self.draw(width).properties(title=title, description=self.alt)

    def svg(self, width: int = WIDE) -> str:
        with _ONE_AT_A_TIME:
            return to_svg(self.chart(width))

    def png(self, width: int = WIDE, *, scale: float = 2.0) -> bytes:
        with _ONE_AT_A_TIME:
            return to_png(self.chart(width), scale=scale)
