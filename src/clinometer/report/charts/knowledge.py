"""Knowledge and the cost of inconsistency: one bar per model in each relation."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clinometer.report.charts.style.theme import (
    BIAS,
    INK,
    NARROW,
    SOFT,
    WIDE,
    altair,
    brief,
    finish,
    rows,
)


def knowledge(table: pd.DataFrame, *, width: int = WIDE) -> Any:
    """Bars of knowledge inside bars of deterministic knowledge, with chance as a tick.

    table: name, relation, knowledge (with _low, _high), deterministic, chance; all from 0 to 1.
    """
    alt = altair()
    narrow = width < (WIDE + NARROW) / 2
    frame = table.reset_index(drop=True).copy()
    frame["label"] = [brief(n, 24) for n in frame["name"]]
    frame["text"] = frame["knowledge"].map("{:.2f}".format)
    frame["end"] = frame[["deterministic", "knowledge_high"]].max(axis=1)
    frame["about"] = [
        f"{r['label']}, {r['relation']}: knowledge {r['knowledge']:.3f}, deterministic "
        f"{r['deterministic']:.3f}, chance {r['chance']:.3f}"
        for _, r in frame.iterrows()
    ]
    gutter = min(110 if narrow else 190, 12 + int(6.4 * frame["label"].str.len().max()))
    panels = []
    names = list(dict.fromkeys(frame["relation"]))
    for i, name in enumerate(names):
        here = alt.Chart(rows(frame[frame["relation"] == name]))
        y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=gutter - 8))
        last = i == len(names) - 1
        x = alt.X("deterministic:Q", title="0 never right, 1 always certain" if last else None)
        x = x.scale(domain=[0, 1]).axis(format=".2~f", tickCount=5)
        panels.append(
            alt.layer(
                here.mark_bar(height=16, color=BIAS, opacity=0.35).encode(
                    x=x, y=y, description="about:N"
                ),
                here.mark_bar(height=16, color=BIAS).encode(x=alt.X("knowledge:Q"), y=y),
                here.mark_rule(color=INK, strokeWidth=1.5).encode(
                    x="knowledge_low:Q", x2="knowledge_high:Q", y=y
                ),
                here.mark_tick(color=SOFT, thickness=2, size=22).encode(x="chance:Q", y=y),
                here.mark_text(align="left", dx=8, color=INK).encode(x="end:Q", y=y, text="text:N"),
            ).properties(
                width=width - gutter - 16,
                height=30 * int((frame["relation"] == name).sum()),
                title=alt.TitleParams(name, fontSize=12, fontWeight="bold", offset=4),
            )
        )
    return finish(alt.vconcat(*panels, spacing=14))
