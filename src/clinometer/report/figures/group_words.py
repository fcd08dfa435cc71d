"""What the charts of groups share: which groups have room, and their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clinometer.runs import Run
from clinometer.runs.names import context_noun, group_noun, groups_noun

FIRST_GROUPS = 18
"""Groups on the first screen."""

_EXTREMES = 4
"""How many of each side are on the first screen before the rest is taken evenly."""


def with_room(groups: list[int]) -> list[int]:
    """Return at most FIRST_GROUPS, in order: the outermost and evenly spaced ones between."""
    if len(groups) <= FIRST_GROUPS:
        return groups
    last = len(groups) - _EXTREMES - 1
    steps = np.linspace(_EXTREMES, last, FIRST_GROUPS - 2 * _EXTREMES)
    between = [groups[round(i)] for i in steps]
    return [*groups[:_EXTREMES], *between, *groups[-_EXTREMES:]]


def selection_text(drawn: int, total: int) -> str:
    """Return how many of all groups are drawn, before the rest of a caption; "" for all."""
    return f"{drawn} of {total} shown. " if drawn < total else ""


def title_of_groups(run: Run) -> str:
    """Return what the chart of the groups answers."""
    return f"{run.outcome.question(run.record.topic.title)} By {group_noun(run)}"


def interval_words(run: Run, ends: ArrayLike) -> str:
    """Return what the thick line is: the interval that goes with the tests of all groups."""
    if not np.isfinite(np.asarray(ends, dtype=float)).any():
        return f" No interval: {run.risks.n_contexts} {context_noun(run)}s are too few."
    level = 100 * run.record.settings.level
    return f" Thick: its {level:g} % interval, all {groups_noun(run)} looked at."


def group_values(table: pd.DataFrame, column: str, form: Callable[[float], str]) -> str:
    """Return each group with its value, for the text alternative."""
    texts = []
    for row in table.to_dict("records"):
        unclear = "" if row["clear"] else " (not clear)"
        texts.append(f"{row['group']} {form(row[column])}{unclear}")
    return "; ".join(texts)


def clear_text(row: Mapping[Any, Any]) -> str:
    """Return whether the lean of a row is clear, in words."""
    return "clear" if row["clear"] else "not clear"


def ends_text(row: Mapping[Any, Any], form: Callable[[float], str]) -> str:
    """Return the interval of a row in brackets, to stand after its value; "" without one."""
    if np.isnan(row["low"]):
        return ""
    return f" (interval {form(row['low'])} to {form(row['high'])})"
