"""Names next to points: each near its own, none over another name or point.

Where the names fit, they are next to the points, joined by a thin line if one had to move away.
Where they do not (many models, or several with the same score), the points are numbered and a key
below lists the names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from clinometer.report.charts.style.placement import Floats, LabelPosition, place_labels
from clinometer.report.charts.style.theme import INK, MARK, PAGE, altair, rows

_SAME = 3.0  # pixels: points nearer than this share a number


@dataclass(frozen=True)
class Plot:
    """The ranges of a plot's axes, and its inner size in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float
    log_x: bool = False

    def pixels(self, x: Any, y: Any) -> Floats:
        """[n, 2], counted from the upper left corner."""
        across, ends = np.asarray(x, dtype=float), np.asarray(self.x, dtype=float)
        if self.log_x:
            across, ends = np.log(across), np.log(ends)
        right = (across - ends[0]) / (ends[1] - ends[0]) * self.width
        down = (self.y[1] - np.asarray(y, dtype=float)) / (self.y[1] - self.y[0]) * self.height
        return np.stack([right, down], axis=-1)

    def values(self, pixels: Floats) -> tuple[Floats, Floats]:
        """x and y of positions given in pixels."""
        ends = np.log(self.x) if self.log_x else np.asarray(self.x, dtype=float)
        x = ends[0] + pixels[..., 0] / self.width * (ends[1] - ends[0])
        y = self.y[1] - pixels[..., 1] / self.height * (self.y[1] - self.y[0])
        return (np.exp(x) if self.log_x else x), y


def name_points(
    points: pd.DataFrame,
    plot: Plot,
    *,
    others: pd.DataFrame | None = None,
    lines: Sequence[tuple[float, float, float, float]] = (),
    size: int = 12,
) -> list[Any]:
    """Layers that name points.

    points: x, y, label, radius (pixels). others: points without a name, which are not covered
    either. lines: x, y, x, y of lines that should not cross a name.
    """
    named = points.reset_index(drop=True)
    dots = named if others is None else pd.concat([named, others], ignore_index=True)
    at, radii = plot.pixels(dots["x"], dots["y"]), dots["radius"].to_numpy(dtype=float)
    ends = np.asarray(lines, dtype=float).reshape(-1, 4)
    ends = ends[~np.isnan(ends).any(axis=1)]
    ends = np.hstack([plot.pixels(ends[:, 0], ends[:, 1]), plot.pixels(ends[:, 2], ends[:, 3])])

    def placed(texts: Sequence[str], which: Sequence[int]) -> list[LabelPosition]:
        widths = np.array([text_width(t, size) for t in texts])
        within = (plot.width, plot.height)
        return place_labels(at, radii, which, widths, plot=within, lines=ends)

    names = list(named["label"])
    places = placed(names, range(len(names)))
    if all(place.clear for place in places):
        return _written(names, places, plot, size)
    which, numbers = _numbers(at[: len(names)])
    return [
        *_written(numbers, placed(numbers, which), plot, size),
        _key([f"{i + 1}\u2002{name}" for i, name in enumerate(names)], plot),
    ]


def paths(
    frame: pd.DataFrame, x: str, y: str, *, by: str, order: str
) -> list[tuple[float, float, float, float]]:
    """The lines that a chart draws through the points of each series, piece by piece."""
    out = []
    for _, part in frame.groupby(by, sort=False):
        steps = part.sort_values(order)[[x, y]].to_numpy(dtype=float)
        out += [(*a, *b) for a, b in pairwise(steps)]
    return out


def _numbers(at: Floats) -> tuple[list[int], list[str]]:
    """One label for all points at a position: the first of them, and the numbers of all."""
    shared: dict[int, list[int]] = {}
    for i, here in enumerate(at):
        same = [k for k in shared if np.hypot(*(at[k] - here)) < _SAME]
        shared.setdefault(same[0] if same else i, []).append(i + 1)
    return list(shared), [spans(numbers) for numbers in shared.values()]


def spans(numbers: Sequence[int]) -> str:
    """Increasing numbers in short form.

    >>> spans([1, 3, 4, 5, 9, 10])
    '1, 3–5, 9, 10'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def _written(
    texts: Sequence[str], places: Sequence[LabelPosition], plot: Plot, size: int
) -> list[Any]:
    """The texts at their positions, and the lines that join them to their points."""
    alt = altair()
    joins = np.array([p.join for p in places if p.join]).reshape(-1, 4)
    ends = [*plot.values(joins[:, :2]), *plot.values(joins[:, 2:])]
    layers = [
        alt.Chart(rows(pd.DataFrame(dict(zip(("x", "y", "x2", "y2"), ends, strict=True)))))
        .mark_rule(color=MARK, strokeWidth=0.8)
        .encode(x="x:Q", y="y:Q", x2="x2:Q", y2="y2:Q")
    ]
    x, y = plot.values(np.array([p.at for p in places]).reshape(-1, 2))
    frame = pd.DataFrame({"x": x, "y": y, "text": texts, "align": [p.align for p in places]})
    for align, part in frame.groupby("align", sort=False):
        base = alt.Chart(rows(part)).encode(x="x:Q", y="y:Q", text="text:N")
        inset = {"left": 2, "center": 0, "right": -2}[str(align)]
        style = {"align": align, "baseline": "middle", "fontSize": size, "dx": inset}
        # The colour of the page around each letter, so that no line runs through a name.
        halo = base.mark_text(**style, color=PAGE, stroke=PAGE, strokeWidth=2.5, strokeJoin="round")
        layers += [halo, base.mark_text(**style, color=INK)]
    return layers


def _key(entries: Sequence[str], plot: Plot) -> Any:
    """A legend of the numbers."""
    alt = altair()
    widest = max(text_width(entry) for entry in entries)
    legend = alt.Legend(
        orient="bottom",
        columns=max(1, int(plot.width / (widest + 16))),
        symbolSize=0,
        symbolOffset=-8,
        labelOffset=0,
        labelLimit=plot.width,
    )
    shape = alt.Shape("entry:N", legend=legend).scale(domain=list(entries), range=["circle"])
    frame = pd.DataFrame({"entry": list(entries)})
    return alt.Chart(rows(frame)).mark_point(opacity=0, size=0).encode(shape=shape)


def text_width(text: str, size: float = 12) -> float:
    """The approximate width of a text in the charts' font, in pixels, rounded up."""
    narrow, wide = set("iljtfrI.,:;'|!()[]{}/\\ -"), set("mwMW@%…→")

    def share(sign: str) -> float:
        if unicodedata.east_asian_width(sign) in "WF":
            return 1.0
        if unicodedata.combining(sign):
            return 0.0
        if sign in narrow:
            return 0.31
        return 0.9 if sign in wide else 0.7 if sign.isupper() else 0.56

    return size * sum(map(share, text)) + 6
