"""Heat map group × context (Figure 11): every cell of a run as one pixel."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.report.charts.style.theme import (
    LINE,
    NARROW,
    WIDE,
    altair,
    brief,
    category_colours,
    distinct,
    finish,
    rows,
    wrap_axis_title,
)

_STEPS = 15  # steps of strength per category; the palette of a PNG has 256 colours


def heat_map(
    strength: NDArray[np.float64],
    favoured: NDArray[np.int64],
    *,
    groups: list[str],
    contexts: list[str],
    categories: tuple[str, ...],
    width: int = WIDE,
) -> Any:
    """Groups down, contexts across: the hue shows the favoured category, its depth how strongly.

    strength [X, C]: J(s) from 0 to 1, NaN where missing (left blank). favoured [X, C]: index of
    the favoured category. Rows and columns are drawn in the order given.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    X, C = strength.shape
    url = (
        "data:image/png;base64,"
        + base64.b64encode(heat_png(strength, favoured, len(categories))).decode()
    )
    few_rows = X <= 40
    plot = width - (8 if not few_rows else (120 if narrow else 180))
    height = int(np.clip(X * (18 if few_rows else 4), 90, 480))
    frame = pd.DataFrame({"x": [0.0], "x2": [float(C)], "y": [0.0], "y2": [float(X)], "url": [url]})
    labels = distinct(groups, 26)
    axis = None
    if few_rows:
        pick = [f"{json_text(label)}" for label in labels]
        axis = alt.Axis(
            values=[i + 0.5 for i in range(X)],
            labelExpr=f"[{','.join(pick)}][floor(datum.value)]",
            labelLimit=110 if narrow else 170,
        )
    across = wrap_axis_title(_across(C, categories), width)
    legend = pd.DataFrame({"category": [f"favours {brief(c, 20)}" for c in categories]})
    image = (
        alt.Chart(rows(frame))
        .mark_image(
            aspect=False, smooth=plot < C, align="left", baseline="top", width=plot, height=height
        )
        .encode(
            x=alt.X("x:Q", title=across)
            .scale(domain=[0, C], nice=False)
            .axis(labels=False, grid=False),
            y=alt.Y("y:Q", title=None, axis=axis).scale(domain=[X, 0], nice=False),
            url="url:N",
        )
    )
    frame_line = (
        alt.Chart(rows(frame))
        .mark_rect(filled=False, stroke=LINE, strokeWidth=1)
        .encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q")
    )
    key = (
        alt.Chart(rows(legend))
        .mark_point(filled=True, opacity=0)
        .encode(
            color=alt.Color("category:N")
            .scale(domain=list(legend["category"]), range=category_colours(len(categories)))
            .legend(symbolOpacity=1, columns=2 if narrow else 5)
        )
    )
    return finish(alt.layer(image, frame_line, key).properties(width=plot, height=height))


def json_text(text: str) -> str:
    """Text as a string of the expression language: nothing in it can end the string."""
    return json.dumps(text, ensure_ascii=True)


def _across(C: int, categories: tuple[str, ...]) -> str:
    if C == 1:
        return "1 context"
    first = brief(categories[0], 20)
    two = len(categories) == 2
    other = f"to {brief(categories[1], 20)}" if two else f"away from {first}"
    return f"{C:,} contexts  ·  ← pull to {first}  ·  pull {other} →"


def heat_png(strength: NDArray[np.float64], favoured: NDArray[np.int64], categories: int) -> bytes:
    """The cells as a PNG with one pixel per cell: colour from a palette, strength as opacity, so
    that zero is the colour of the page, light or dark."""
    colours = category_colours(categories)
    steps = min(_STEPS * 2, 255 // max(categories, 1))
    palette, alpha = [b"\0\0\0"], [0]
    for colour in colours:
        rgb = bytes.fromhex(colour[1:])
        palette += [rgb] * steps
        alpha += [round(255 * (i + 1) / steps) for i in range(steps)]
    level = np.clip(np.nan_to_num(strength), 0, 1)
    depth = np.ceil(level * steps - 1e-9).astype(np.int64)  # any lean at all is at least step 1
    index = np.where(depth > 0, favoured * steps + depth, 0).astype(np.uint8)
    lines = np.concatenate([np.zeros((len(index), 1), np.uint8), index], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", index.shape[1], index.shape[0], 8, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"PLTE", b"".join(palette))
        + _chunk(b"tRNS", bytes(alpha))
        + _chunk(b"IDAT", zlib.compress(lines, 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
