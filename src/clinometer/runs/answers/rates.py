"""What groups are answered, beside their risks: rates, impact ratios, expected ratings, other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.measure import Preferences
from clinometer.measure.equations.group_mean import impact_ratios
from clinometer.readouts.tables import RatingTable, parse_readout
from clinometer.runs.answers.other import other_sentence, other_shares
from clinometer.statistics.arrays import ROUNDING, FloatArray, plain

if TYPE_CHECKING:
    from clinometer.runs.run import Run

FOUR_FIFTHS = 0.8
"""The impact ratio below which the US "four-fifths rule" looks more closely."""


def answered_groups(run: Run) -> list[dict[str, Any]]:
    """The rows of the groups; of a topic with a readout also what they are answered.

    other         share of the replies, or of their probability, that is no category
    rate          mean share of the favourable category, and its ratio to the highest rate
    impact_ratio  1 for the group with the highest rate
    rating        mean rating
    """
    rows = run.risks.groups_table()
    for name, values in answer_columns(run).items():
        for row, value in zip(rows, values.tolist(), strict=True):
            row[name] = plain(value)
    return rows


def answer_columns(run: Run) -> dict[str, FloatArray]:
    """The columns of a topic with a readout, [X] each; none for a topic of words."""
    if run.record.topic.readout is None:
        return {}
    p, readout = run.preferences, parse_readout(run.record.topic.readout)
    means = mean_preferences(p)
    found: dict[str, FloatArray] = {}
    shares = other_shares(p)
    if shares is not None:
        found["other"] = shares
    if readout is not None and readout.favourable is not None:
        found["rate"] = means[:, p.categories.index(readout.favourable)]
        found["impact_ratio"] = impact_ratios(found["rate"])
    if isinstance(readout, RatingTable):
        found["rating"] = means @ np.arange(1, readout.scale + 1)
    return found


def mean_preferences(p: Preferences) -> FloatArray:
    """[X, Y]: mean preference over the observed contexts, by weight; NaN for missing groups."""
    weights = np.where(p.observed, np.broadcast_to(p.context_weights, p.observed.shape), 0.0)
    total = weights.sum(axis=1)[:, None]
    values = np.where(p.observed[..., None], p.values, 0.0)
    means = np.full((len(p.groups), len(p.categories)), np.nan)
    np.divide(np.einsum("xc,xcy->xy", weights, values), total, out=means, where=total > 0)
    return means


def impact_sentence(run: Run) -> str:
    """The lowest and the highest rate of the favourable answer, or mean rating, of the groups."""
    columns = answer_columns(run)
    name = "rate" if "rate" in columns else "rating"
    values = columns.get(name)
    if values is None or np.isfinite(values).sum() < 2:
        return ""
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    groups = run.preferences.groups
    if values[high] - values[low] < ROUNDING:
        return f"mean {_of(run, name)} {values[low]:.3f} for every group."
    ends = f"{values[low]:.3f} for {groups[low]} to {values[high]:.3f} for {groups[high]}"
    if name == "rating":
        return f"mean rating {ends}."
    return f"mean {_of(run, name)} {ends}; {ratio_sentence(run)}"


def ratio_sentence(run: Run) -> str:
    """The lowest impact ratio, and how many groups the four-fifths rule would look at; "" without
    a favourable answer."""
    ratios = answer_columns(run).get("impact_ratio")
    if ratios is None or np.isfinite(ratios).sum() < 2:
        return ""
    below = int((ratios < FOUR_FIFTHS).sum())
    return (
        f"lowest impact ratio {np.nanmin(ratios):.3f}, {below} of {len(ratios)} groups below "
        f"{FOUR_FIFTHS:g}."
    )


def asked_sentences(run: Run, *, rates: bool = True) -> list[str]:
    """What a reader of a topic with a readout must see first: other, and the groups' rates, or
    where a headline tells those already only their ratios."""
    said = [other_sentence(run.record), impact_sentence(run) if rates else ratio_sentence(run)]
    return [f"{one[0].upper()}{one[1:]}" for one in said if one]


def _of(run: Run, name: str) -> str:
    favourable = (run.record.topic.readout or {}).get("favourable")
    return name if name == "rating" else f"share of {favourable!r}"
