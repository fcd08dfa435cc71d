"""Numbers read out of drawings: from where the marks stand, not from the tables behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from clinometer.report.figure import Figure

_MOVE = re.compile(r"translate\(([-\d.e]+),([-\d.e]+)\)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Mark:
    """A mark of a drawing: its name and place, and what else can be seen of it."""

    tag: str
    x: float
    y: float
    text: str
    tip: str
    seen: dict[str, str]

    @property
    def ink(self) -> str:
        """Its colour, without the fallback for files."""
        fill = self.seen.get("fill", "")
        return fill if fill not in ("", "none", "transparent") else self.seen.get("stroke", "")

    @property
    def ends(self) -> tuple[float, float]:
        """Left and right of a bar or a line."""
        if self.tag == "line":
            return self.x, self.x + float(self.seen.get("x2", 0))
        across, at, width = [], 0.0, self.seen["d"]
        for command, numbers in re.findall(r"([MLHhvVCcAalZz])([^A-Za-z]*)", width):
            values = [float(v) for v in _NUMBER.findall(numbers)]
            if command in "MLC":
                across += values[::2]
            elif command == "H":
                across += values
            elif command == "h":
                across += [at + values[0]]
            elif command == "A":
                across.append(values[5])
            at = across[-1] if across else at
        return self.x + min(across), self.x + max(across)


def marks(figure: Figure) -> list[Mark]:
    """The marks of a drawing as wide as a page, each where it stands."""
    root = ElementTree.fromstring(figure.inline()["wide"])  # noqa: S314  (our own drawing)
    return list(_walk(root, 0.0, 0.0, {}))


def _walk(e: ElementTree.Element, x: float, y: float, outer: dict[str, str]) -> Iterator[Mark]:
    if moved := _MOVE.search(e.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    seen = {**outer, **e.attrib}
    if e.tag != "g":
        yield Mark(e.tag, x, y, "".join(e.itertext()), e.get("data-tip", ""), seen)
    for child in e:
        yield from _walk(child, x, y, {"opacity": seen.get("opacity", "")})


def axis(found: list[Mark], at: dict[str, float]) -> Callable[[float], float]:
    """Pixels to values: the line through the labels of two ticks."""
    places = {m.text: m.x for m in found if m.tag == "text" and m.text in at}
    assert len(places) >= 2, [m.text for m in found if m.tag == "text"]
    slope, start = np.polyfit(list(places.values()), [at[text] for text in places], 1)
    return lambda x: float(slope * x + start)
