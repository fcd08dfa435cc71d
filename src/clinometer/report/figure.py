"""A chart with its title, caption, text alternative and data."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from clinometer.display.visible import visible
from clinometer.report.charts.style.theme import BESIDE, NARROW, WIDE, wrap_axis_title
from clinometer.report.drawing import Drawing
from clinometer.report.svg import inline, svg_to_png, to_png, to_svg
from clinometer.storage.spreadsheet import no_formula

if TYPE_CHECKING:
    import pandas as pd


Size = Literal["wide", "beside", "narrow"]

_WIDTHS: dict[Size, int] = {"wide": WIDE, "beside": BESIDE, "narrow": NARROW}

#: Altair keeps the data of the chart it is writing in state shared by all threads: two charts
#: written at once get each other's bars.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, eq=False)
class Figure:
    """One chart.

    key      file name and id on a page: letters, digits, -
    title    what it shows, in words that readers remember
    caption  how to read it, and its basis (n, n_eff)
    alt      the text alternative, for those who cannot see it
    draw     width -> Altair chart, or a `Drawing`
    table    the numbers behind it, if they are few enough to read
    """

    key: str
    title: str
    caption: str
    alt: str
    draw: Callable[[int], Any]
    table: pd.DataFrame | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Names of groups, models and contexts are other people's text."""
        for name in ("title", "caption", "alt"):
            object.__setattr__(self, name, visible(getattr(self, name)))

    def inline(self, prefix: str = "", *, beside: bool = False) -> dict[str, str]:
        """The drawing embedded in a page, for wide and for narrow screens; with `beside` also for
        a place next to other things, on paper or as the second figure of a screen."""
        sizes: tuple[Size, ...] = ("wide", "beside", "narrow") if beside else ("wide", "narrow")
        return {size: self.inline_one(size, prefix) for size in sizes}

    def inline_one(self, size: Size, prefix: str = "") -> str:
        with _ONE_AT_A_TIME:
            drawn = self.draw(_WIDTHS[size])
            svg = drawn.svg() if isinstance(drawn, Drawing) else to_svg(drawn)
        return inline(svg, key=f"{prefix}{self.key}-{size}", label=self.alt)

    def data_address(self) -> str:
        """The numbers behind the chart as a CSV file in a data address; "" where it has none."""
        if self.table is None:
            return ""
        csv = self.table.map(no_formula).to_csv(index=False)
        return "data:text/csv;base64," + base64.b64encode(csv.encode()).decode()

    def chart(self, width: int = WIDE) -> Any:
        """The chart alone, with title and caption in it: what a notebook shows."""
        import altair as alt

        title = alt.TitleParams(
            wrap_axis_title(self.title, int(width / 1.25)),
            subtitle=wrap_axis_title(self.caption, width),
        )
        return self.draw(width).properties(title=title, description=self.alt)

    def svg(self, width: int = WIDE) -> str:
        with _ONE_AT_A_TIME:
            drawn = self.draw(width)
            return self._titled(drawn) if isinstance(drawn, Drawing) else to_svg(self.chart(width))

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg()

    def png(self, width: int = WIDE, *, scale: float = 2.0) -> bytes:
        with _ONE_AT_A_TIME:
            drawn = self.draw(width)
            if isinstance(drawn, Drawing):
                return svg_to_png(self._titled(drawn), scale=scale)
            return to_png(self.chart(width), scale=scale)

    def _titled(self, drawn: Drawing) -> str:
        width = int(drawn.width)
        return drawn.svg(
            title=tuple(wrap_axis_title(self.title, int(width / 1.25))),
            caption=tuple(wrap_axis_title(self.caption, width)),
        )
