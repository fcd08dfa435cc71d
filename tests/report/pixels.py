"""What a line of text looks like when it is drawn."""

from __future__ import annotations

import io
from functools import cache
from html import escape

import numpy as np
from PIL import Image

from clinometer.report.charts import FONT


def drawn(markup: str) -> np.ndarray:
    """How much ink is in each pixel of a line (or several) in the font of the charts."""
    import vl_convert

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="60">'
        f'<text x="2" y="20" font-family="{FONT}" font-size="12">{markup}</text></svg>'
    )
    with Image.open(io.BytesIO(vl_convert.svg_to_png(svg, scale=2))) as image:
        return np.asarray(image)[:, :, 3]


@cache
def stays_in_font(sign: str) -> bool:
    """False for a sign that the font lacks: the letters before it are drawn in another font too."""
    before = 48  # pixels that RgQ takes
    return bool((drawn("RgQ" + escape(sign))[:, :before] == drawn("RgQ")[:, :before]).all())
