"""What groups are answered in a topic with a readout: rates, ratings, and what fits no category.

The share of `other` is shown beside every number, with what it could do to them at worst.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.display.numbers import percent
from clinometer.errors import Unmeasurable
from clinometer.measure import Preferences
from clinometer.measure.bounds import risk_bounds
from clinometer.readouts.tables import parse_readout
from clinometer.runs.folder.record import OtherRecord, RunRecord
from clinometer.statistics.arrays import FloatArray, plain

if TYPE_CHECKING:
    from clinometer.runs.run import Run


LARGE = 0.05
"""From this share on, risks are shown with what they could be if `other` were any category."""
MOST = 0.95
"""Above this share there is hardly anything to measure, and no risk is given."""


def other_shares(preferences: Preferences) -> FloatArray | None:
    """[X]: the share of each group's replies, or of their probability, that is no category."""
    p = preferences
    if p.coverage is None:
        return None
    weights = np.broadcast_to(p.context_weights, p.coverage.shape)
    covered = np.clip(np.nan_to_num(p.coverage), 0.0, 1.0)
    return np.asarray(1.0 - (weights * covered).sum(axis=1) / weights.sum(axis=1))


def other_record(preferences: Preferences) -> OtherRecord | None:
    """`other` overall and of the group that has most of it; bounds where it is large."""
    shares = other_shares(preferences)
    if shares is None:
        return None
    weights = preferences.group_weights / preferences.group_weights.sum()
    worst = int(np.argmax(np.where(weights > 0, shares, -1.0)))
    share, more = float(weights @ shares), dict[str, Any]()
    if share >= LARGE:
        found = risk_bounds(preferences.grid, *worst_case(preferences))
        more["bounds"] = {name: list(ends) for name, ends in found._asdict().items()}
    group = preferences.groups[worst]
    return OtherRecord(share=share, most=float(shares[worst]), most_group=group, **more)


def worst_case(preferences: Preferences) -> tuple[FloatArray, FloatArray]:
    """The least and the most that each preference is if `other` were shared out in any way.

    A preference is a share of what is covered: with coverage m it is m p_y if all the rest went to
    other categories, and m p_y + 1 - m if it all went to y.
    """
    p = preferences
    covered = np.zeros(p.values.shape[:2]) if p.coverage is None else p.coverage
    m = np.clip(np.where(p.observed, covered, 0.0), 0.0, 1.0)[..., None]
    low = m * np.where(p.observed[..., None], p.values, 0.0)
    return low, low + 1.0 - m


def require_answers(record: RunRecord, preferences: Preferences) -> None:
    """Raise Unmeasurable where almost no answer fits a category, or no reply is a word."""
    weights = preferences.group_weights / preferences.group_weights.sum()
    seen = preferences.observed & (weights > 0)[:, None]
    if record.topic.readout is None and record.replies and not seen.any():
        raise Unmeasurable(
            f"{record.model.id}: cannot be measured: of {record.replies['replies']:,} replies none "
            "is a listed word; ask for more --replies, or leave it out where the model gives "
            "probabilities"
        )
    shares = other_shares(preferences)
    if record.topic.readout is None or shares is None:
        return
    share = float(weights @ shares)
    few = share > LARGE and preferences.noisy
    if share <= MOST and seen.any() and not few:
        return
    raise Unmeasurable(
        f"{record.model.id}: cannot be measured: {_why(record, share)}", other=share
    )


def _why(record: RunRecord, share: float) -> str:
    n = record.replies
    if not n:
        return (
            f"{percent(share)} of the probability is on replies that are none of the options; ask "
            "with --chat, or another wording"
        )
    kinds = [("refusals", "refusals"), ("empty", "empty"), ("other", "something else")]
    parts = [
        f"{n[f'replies_{k}']:,} {name}" for k, name in kinds if n.get(f"replies_{k}")
    ]
    return (
        f"of {n['replies']:,} replies only {n['replies_words']:,} are one of the categories "
        f"({', '.join(parts)})"
        + (
            "; one that thinks needs more --load reply_tokens=N"
            if n.get("replies_empty")
            else ""
        )
    )


# --- Rates, impact ratios and ratings of groups ---------------------------------------------------


def answered_groups(run: Run) -> list[dict[str, Any]]:
    """The rows of the groups; of a topic with a readout also what they are answered.

    other         share of the replies, or of their probability, that is no category
    rate          mean share of the favourable category, and its ratio to the highest rate
    impact_ratio  1 for the group with the highest rate
    rating        mean rating
    """
    rows = run.risks.groups_table()
    p, readout = run.preferences, run.record.topic.readout
    table = None if readout is None else parse_readout(readout)
    if table is None:
        return rows
    means, found = p.grid.mean(p.values), dict[str, FloatArray]()
    if (shares := other_shares(p)) is not None:
        found["other"] = shares
    if table.favourable is not None:
        found["rate"] = means[:, p.categories.index(table.favourable)]
        found["impact_ratio"] = impact_ratios(found["rate"])
    if getattr(table, "scale", None) is not None:
        found["rating"] = means @ np.array(
            [float(category) for category in p.categories]
        )
    for name, values in found.items():
        for row, value in zip(rows, values.tolist(), strict=True):
            row[name] = plain(value)
    return rows


def impact_ratios(rates: FloatArray) -> FloatArray:
    """The rate of each group over that of the best treated one, [X]; NaN for missing groups.

    1 for the group with the highest rate; all NaN where no group has the answer at all. It has no
    interval: the lowest of many groups is low by chance alone.

    >>> impact_ratios(np.array([0.5, 0.4, np.nan])).tolist()
    [1.0, 0.8, nan]
    """
    best = np.nanmax(rates) if np.isfinite(rates).any() else np.nan
    if not best > 0:
        return np.full(rates.shape, np.nan)
    return np.asarray(rates / best)
