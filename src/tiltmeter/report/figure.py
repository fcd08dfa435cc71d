"""A chart with everything a reader needs around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tiltmeter.report.charts.theme import NARROW, WIDE, wrap_axis_title
from tiltmeter.report.svg import inline, to_png, to_svg

if TYPE_CHECKING:
    import pandas as pd


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
        key = f"{prefix}{self.key}"
        return {
            name: inline(to_svg(self.draw(width)), key=f"{key}-{name}", label=self.alt)
            for name, width in (("wide", WIDE), ("narrow", NARROW))
        }

    def chart(self, width: int = WIDE) -> Any:
        """The chart alone, with title and caption in it: what a file or a notebook shows."""
        import altair as alt

        title = alt.TitleParams(
            wrap_axis_title(self.title, int(width / 1.25)),
            subtitle=wrap_axis_title(self.caption, width),
        )
        return self.draw(width).properties(title=title, description=self.alt)

    def svg(self, width: int = WIDE) -> str:
        return to_svg(self.chart(width))

    def png(self, width: int = WIDE, *, scale: float = 2.0) -> bytes:
        return to_png(self.chart(width), scale=scale)
