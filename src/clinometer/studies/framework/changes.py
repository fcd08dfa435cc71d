"""A model and its versions on the same contexts: paired differences, and changed leanings.

Shared by `alignment` (Figure 8) and `toxicity` (Figure 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.names import IN_SENTENCES
from clinometer.measure import Comparison
from clinometer.report import Figure, Table, charts
from clinometer.report.figures.comparison import basis, risk_rows
from clinometer.runs import Run, compare


def change_table(before: tuple[str, Run], after: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """after − before of R, R^b and R^v, each with its paired interval and p."""
    rows: list[dict[str, Any]] = []
    for name, run in after:
        found = compare(run, before[1])
        rows += [
            {
                "pair": f"{name} − {before[0]}",
                "measure": d.measure,
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "p": d.p,
            }
            for d in found.overall
        ]
    return pd.DataFrame(rows)


def leaning_changes(before: tuple[str, Run], after: tuple[str, Run]) -> pd.DataFrame:
    """Each group: the category it leans to before and after, s towards it, and the change of r."""
    a, b = before[1].risks, after[1].risks
    found: Comparison = compare(after[1], before[1])
    change = {d.group: d for d in found.by_group if d.measure == "r"}
    rows = []
    for i, group in enumerate(a.groups):
        first, second = (r.mean_stereotype[i] for r in (a, b))
        if np.isnan(first).any() or np.isnan(second).any():
            continue
        d = change[group]
        rows.append(
            {
                "group": group,
                "before": a.categories[int(first.argmax())],
                "after": b.categories[int(second.argmax())],
                "s_before": float(first.max()),
                "s_after": float(second.max()),
                "value": d.value,
                "low": d.low,
                "high": d.high,
                "p_holm": d.p_holm,
            }
        )
    frame = pd.DataFrame(rows)
    return frame.sort_values("value", key=lambda v: -v.abs(), kind="stable", ignore_index=True)


def sentences(changes: pd.DataFrame) -> list[str]:
    """What changed, and what is indistinguishable from no change."""
    lines = []
    for row in changes.to_dict("records"):
        if row["low"] is None or pd.isna(row["low"]):
            verdict = "too few effective contexts to say whether it changed"
        elif row["low"] > 0:
            verdict = "higher"
        elif row["high"] < 0:
            verdict = "lower"
        else:
            verdict = "no difference shown"
        span = "" if pd.isna(row["low"]) else f" ({row['low']:+.3f} to {row['high']:+.3f})"
        lines.append(
            f"{row['pair']}: {IN_SENTENCES[row['measure']]} {row['value']:+.3f}{span}: {verdict}."
        )
    return lines


def moved(leanings: pd.DataFrame, name: str) -> str:
    """How many groups lean to another category than before, with examples."""
    other = leanings[leanings["before"] != leanings["after"]]
    if other.empty:
        return f"{name}: no group leans to another category than before."
    some = ", ".join(
        f"{r['group']} ({r['before']} → {r['after']})" for r in other.head(6).to_dict("records")
    )
    more = f" and {len(other) - 6} more" if len(other) > 6 else ""
    return f"{name}: {len(other)} of {len(leanings)} groups lean to another category: {some}{more}."


def change_figures(
    key: str, named: Sequence[tuple[str, Run]], changes: pd.DataFrame, *, title: str
) -> tuple[Figure, ...]:
    """The versions in the plane of bias and volatility, and the paired differences."""
    plane = pd.DataFrame(risk_rows([r for _, r in named], [n for n, _ in named]))
    said = "; ".join(
        f"{r['name']}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in plane.to_dict("records")
    )
    moves = "; ".join(
        f"{r['pair']} {r['measure']} {r['value']:+.3f}" for r in changes.to_dict("records")
    )
    return (
        Figure(
            key=f"{key}-plane",
            title=title,
            caption=f"{basis(named[0][1])}. Lines: intervals over contexts. R is constant along "
            "the dotted diagonals.",
            alt=f"Plane of bias and volatility risk. {said}.",
            draw=lambda width: charts.plane(plane, width=width),
        ),
        Figure(
            key=f"{key}-differences",
            title=f"{title}: paired differences",
            caption=f"{basis(named[0][1])}. Right of zero: higher than before. Both were scored in "
            "the same contexts, which cancels the effect of a context on both.",
            alt=f"Differences with intervals. {moves}.",
            draw=lambda width: charts.differences(changes, width=width),
        ),
    )


def change_tables(
    key: str, changes: pd.DataFrame, leanings: dict[str, pd.DataFrame]
) -> list[Table]:
    """The differences of all groups together, and those of each group."""
    found = [Table(f"{key}-differences", "Paired differences", changes)]
    for name, frame in leanings.items():
        found.append(Table(f"{key}-groups-{name}", f"Groups before and after: {name}", frame))
    return found
