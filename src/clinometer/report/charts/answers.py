"""Single answers with their numbers (Figure 11): some groups across, some contexts down."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.report.charts.style.theme import (
    INK,
    NARROW,
    PAGE,
    WIDE,
    altair,
    brief,
    category_colours,
    distinct,
    finish,
    rows,
)

#: More groups than this have no room for a number in each cell.
MOST_GROUPS = 12


def answers(table: pd.DataFrame, *, categories: tuple[str, ...], width: int = WIDE) -> Any:
    """One cell per group and context: the favoured category, how strongly, and its probability.

    table: group, template, leans (a category), strength (0 to 1), p (of the favoured category), in
    the display order of groups and contexts; a missing cell has no row.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    room = 18 if narrow else 40
    contexts = list(dict.fromkeys(frame["template"]))
    names = dict(zip(contexts, distinct(contexts, room), strict=True))
    frame["context"] = frame["template"].map(names)
    frame["text"] = frame["p"].map("{:.2f}".format)
    frame["opacity"] = 0.12 + 0.88 * frame["strength"].clip(0, 1)
    frame["ink"] = [PAGE if s > 0.6 else INK for s in frame["strength"]]
    frame["about"] = [
        f"{r['group']}, {brief(r['template'], 60)}: {r['leans']} {r['p']:.3f}"
        for _, r in frame.iterrows()
    ]
    groups = list(dict.fromkeys(frame["group"]))
    x = alt.X("group:N", sort=groups, title=None)
    x = x.axis(orient="top", labelAngle=-30, labelAlign="left", grid=False, labelLimit=120)
    y = alt.Y("context:N", sort=list(names.values()), title=None).axis(labelLimit=room * 7)
    colour = alt.Color("leans:N", legend=alt.Legend(orient="bottom", offset=8)).scale(
        domain=list(categories), range=category_colours(len(categories))
    )
    base = alt.Chart(rows(frame))
    layers = [
        base.mark_rect(stroke=PAGE, strokeWidth=2).encode(
            x=x,
            y=y,
            color=colour,
            opacity=alt.Opacity("opacity:Q", scale=None, legend=None),
            description="about:N",
        )
    ]
    if not narrow or len(groups) <= 4:
        layers.append(
            base.mark_text(fontSize=11).encode(
                x=x, y=y, text="text:N", color=alt.Color("ink:N", scale=None)
            )
        )
    left = 12 + int(6.6 * max(len(n) for n in names.values()))
    return finish(
        alt.layer(*layers).properties(width=max(120, width - left - 40), height=30 * len(contexts))
    )
