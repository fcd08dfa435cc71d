"""How answers spread over contexts: a curve for all groups, and for some of them."""

from __future__ import annotations

import pandas as pd

from clinometer.display.text import brief
from clinometer.report.charts.axes import channel, signed_axis
from clinometer.report.charts.look import (
    INK,
    MARK,
    SOFT,
    WIDE,
    Spec,
    fitted,
    is_narrow,
    model_colours,
    wrapped,
)
from clinometer.report.charts.marks import (
    ABOUT,
    described,
    label_by_name,
    mark,
    nominal,
    quantitative,
)


def density_chart(
    table: pd.DataFrame,
    *,
    categories: tuple[str, ...],
    category: str,
    means: pd.DataFrame,
    width: int = WIDE,
) -> Spec:
    """Return how the stereotype s is distributed over contexts, its mean and the reference marked.

    table: curve (name), s, density. means: curve, mean. The first curve is filled (all groups);
    the others are lines. The distance of a mean from 0 is the lean; the width is the swing.
    """
    narrow = is_narrow(width)
    labels = label_by_name(table["curve"], 30)
    names = list(labels.values())
    curves = table.assign(curve=table["curve"].map(labels))
    lines = described(
        means.assign(curve=means["curve"].map(labels)), "{curve}: mean {mean:+.3f}"
    )
    lines["text"] = [f"mean {mean:+.2f}".replace("-", "−") for mean in lines["mean"]]
    reference = pd.DataFrame({"s": [0], "text": ["reference"]})

    legend = None
    if len(names) > 1:
        legend = {"columns": 2 if narrow else 4}
    inks = [MARK, *model_colours(5)]  # of groups: no colour of a category
    colour = nominal("curve", legend=legend, scale={"domain": names, "range": inks})
    low = min(float(table["s"].min()), -0.02)
    high = max(float(table["s"].max()), 0.02)
    margin = 0.03 * (high - low)
    title = wrapped(_direction(categories, category), width)
    axis = channel(title, [low - margin, high + margin], **signed_axis())
    # Room above the curves for the words beside the vertical lines.
    top = 1.22 * float(table["density"].max())
    x = quantitative("s", **axis)
    x_of_mean = quantitative("mean", **axis)
    y = quantitative("density", title=None, axis=None, scale={"domain": [0, top]})

    # The words stand outside of the two lines.
    mean_is_right = float(lines["mean"].iloc[0]) >= 0
    beside_mean = {**_beside(right=mean_is_right), "color": INK}
    beside_reference = {
        **_beside(right=not mean_is_right),
        "color": SOFT,
        "fontSize": 11,
    }
    at_top = {"value": 0}
    text = nominal("text")
    filled = curves[curves["curve"] == names[0]]
    width_2 = {"strokeWidth": 2}
    dashed = {"color": INK, "strokeDash": [3, 3]}
    marks = [
        mark("area", filled, look={"opacity": 0.28}, x=x, y=y, color=colour),
        mark("line", curves, look=width_2, x=x, y=y, color=colour),
        mark("rule", reference, look=dashed, x=x),
        mark("text", reference, look=beside_reference, x=x, y=at_top, text=text),
        mark("rule", lines, look=width_2, x=x_of_mean, color=colour, description=ABOUT),
        mark("text", lines.head(1), look=beside_mean, x=x_of_mean, y=at_top, text=text),
    ]
    return fitted({"layer": marks}, width, 150 if narrow else 190)


def _direction(categories: tuple[str, ...], category: str) -> str:
    """Return what the two ends of the axis of s mean."""
    name = brief(category, 24)
    if len(categories) == 2:
        other = brief(next(c for c in categories if c != category), 24)
        return f"← leans to {other}  ·  0 as the reference  ·  leans to {name} →"
    return f"← less {name} than the reference  ·  more {name} →"


def _beside(*, right: bool) -> Spec:
    """Return the position of a word at the top of a vertical line."""
    return {
        "align": "left" if right else "right",
        "dx": 5 if right else -5,
        "baseline": "top",
    }
