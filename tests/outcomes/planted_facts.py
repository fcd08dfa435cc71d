"""Facts with planted risks and leans: what is said must follow from them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.preferences import labelled

from clinometer.measure import Estimate
from clinometer.measure.leaning import GroupLean
from clinometer.outcomes.choose import outcome_of
from clinometer.runs.findings.facts import RunFacts, facts_of_table
from clinometer.statistics.arrays import FloatArray


def estimate(value: float, low: float | None, high: float | None) -> Estimate:
    if low is None or high is None:
        return Estimate(value)
    return Estimate(value, low, high, 0.95, "planted")


def lean(
    favoured: str | None,
    size: float = 0.1,
    *,
    clear: bool = False,
    ends: tuple[float, float] | None = None,
) -> GroupLean:
    """The lean of a group; one that favours no category has no answer."""
    low, high = ends or (None, None)
    category = favoured if clear else None
    return GroupLean("g", category, favoured, size, low, high, None)


def planted_facts(
    shares: FloatArray,
    leans: Sequence[GroupLean] = (),
    *,
    risks: Mapping[str, Estimate] | None = None,
    units: int = 40,
    favourable: str = "",
    parts: Mapping[str, Any] | None = None,
    report: Mapping[str, Any] | None = None,
    **preferences: Any,
) -> RunFacts:
    """Facts of shares [X,C,Y] or, in every one of ten contexts, [X,Y]."""
    if shares.ndim == 2:
        shares = np.repeat(shares[:, None], 10, axis=1)
    table = labelled(shares, **preferences)
    decomposed = table.decompose()
    summary = {**decomposed.summary, **(risks or {})}
    planted = replace(decomposed, summary=summary, **(report or {}))
    group_leans = tuple(leans) or tuple(lean(table.categories[0]) for _ in table.groups)
    facts = facts_of_table("M", table, planted, group_leans)
    outcome = outcome_of(table, asks_questions=bool(favourable), favourable=favourable)
    return replace(facts, units=units, outcome=outcome, **(parts or {}))


def two(*first_shares: float) -> FloatArray:
    """[X,2]: shares of the first of two categories, and of the second."""
    first = np.array(first_shares)
    return np.stack([first, 1 - first], axis=-1)
