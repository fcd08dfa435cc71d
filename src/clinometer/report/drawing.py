"""Hand-written SVG for the few charts in which every pixel matters."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from clinometer.report.charts.style import FONT, INK, OURS, SOFT, brief, text_width


@dataclass(frozen=True)
class Drawing:
    """An SVG with its size; `Figure.draw` may return it instead of an Altair chart."""

    width: float
    height: float
    marks: tuple[str, ...]

    def svg(self, *, title: tuple[str, ...] = (), caption: tuple[str, ...] = ()) -> str:
        """A complete file, with title and caption above if it stands alone."""
        lines = [
            *((t, 15, INK, "bold") for t in title),
            *((c, 12, SOFT, "normal") for c in caption),
        ]
        top = 20 * len(lines) + 10 if lines else 0
        heads = [
            text(0, 16 + 20 * i, line, size=size, colour=colour, weight=weight)
            for i, (line, size, colour, weight) in enumerate(lines)
        ]
        body = "".join(self.marks)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" '
            f'height="{self.height + top:g}" viewBox="0 0 {self.width:g} {self.height + top:g}" '
            f'font-family="{FONT}">{"".join(heads)}'
            f'<g transform="translate(0,{top})">{body}</g></svg>'
        )


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 12,
    colour: str = SOFT,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}" '
        f'text-anchor="{anchor}"{_bold(weight)}>{_escaped(content)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}" stroke="{colour}" fill="none"{dashed}/>'


def bar(
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    *,
    opacity: float = 1.0,
    radius: float = 0,
    about: str = "",
) -> str:
    rounded = f' rx="{radius:g}"' if radius else ""
    pale = f' opacity="{opacity:g}"' if opacity < 1 else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
        f'fill="{colour}"{rounded}{pale}{_about(about)}/>'
    )


def dot(x: float, y: float, radius: float, colour: str, *, ring: str = "", about: str = "") -> str:
    edge = f' stroke="{ring}" stroke-width="1.5"' if ring else ""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"{edge}{_about(about)}/>'
    )


def fitting(label: str, pixels: float, size: float = 12) -> str:
    """A label truncated to a width.

    >>> fitting("superintendent", 60).endswith("…")
    True
    """
    shown = brief(label, 80)
    while len(shown) > 2 and text_width(shown, size) > pixels:
        shown = shown.removesuffix("…")[:-1].rstrip() + "…"
    return shown


def _about(content: str) -> str:
    """What a pointer reads. (The prefix would not survive the escaping of invisible signs.)"""
    return f' aria-label="{OURS}{_escaped(content)}"' if content else ""


def _bold(weight: str) -> str:
    return "" if weight == "normal" else f' font-weight="{weight}"'


def _escaped(content: str) -> str:
    return escape(brief(content, 400))
