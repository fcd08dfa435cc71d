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
    """Return the share of each group's replies [X], or of their probability, that is no category;
    None where that is not known."""
    coverage = preferences.coverage
    if coverage is None:
        return None
    weights = np.broadcast_to(preferences.context_weights, coverage.shape)
    covered = np.clip(np.nan_to_num(coverage), 0.0, 1.0)
    return np.asarray(1.0 - (weights * covered).sum(axis=1) / weights.sum(axis=1))


def other_record(preferences: Preferences) -> OtherRecord | None:
    """Return `other` overall and of the group that has most of it; bounds where it is large."""
    shares = other_shares(preferences)
    if shares is None:
        return None
    weights = preferences.group_weights / preferences.group_weights.sum()
    worst = int(np.argmax(np.where(weights > 0, shares, -1.0)))
    share = float(weights @ shares)
    most, most_group = float(shares[worst]), preferences.groups[worst]
    if share < LARGE:
        return OtherRecord(share=share, most=most, most_group=most_group)
    bounds = risk_bounds(preferences.grid, *worst_case(preferences))
    return OtherRecord(
        share=share,
        most=most,
        most_group=most_group,
        bounds={name: list(ends) for name, ends in bounds._asdict().items()},
    )


def worst_case(preferences: Preferences) -> tuple[FloatArray, FloatArray]:
    """Return the least and the most that each preference is if `other` were shared out in any way.

    A preference is a share of what is covered: with coverage m it is m p_y if all the rest went to
    other categories, and m p_y + 1 - m if it all went to y.
    """
    observed = preferences.observed
    covered = preferences.coverage
    if covered is None:
        covered = np.zeros(observed.shape)
    m = np.clip(np.where(observed, covered, 0.0), 0.0, 1.0)[..., None]
    low = m * np.where(observed[..., None], preferences.values, 0.0)
    return low, low + 1.0 - m


def require_answers(record: RunRecord, preferences: Preferences) -> None:
    """Raise Unmeasurable where almost no answer fits a category, or no reply is a word."""
    weights = preferences.group_weights / preferences.group_weights.sum()
    answered = bool((preferences.observed & (weights > 0)[:, None]).any())
    if record.topic.readout is None:
        _require_words(record, answered=answered)
        return
    shares = other_shares(preferences)
    if shares is None:
        return
    share = float(weights @ shares)
    too_few_replies = share > LARGE and preferences.noisy
    if share > MOST or not answered or too_few_replies:
        raise Unmeasurable(
            f"{record.model.id}: cannot be measured: {_why(record, share)}", other=share
        )


def _require_words(record: RunRecord, *, answered: bool) -> None:
    """Raise Unmeasurable where replies were asked for and none begins with a listed word."""
    if record.replies and not answered:
        raise Unmeasurable(
            f"{record.model.id}: cannot be measured: of {record.replies['replies']:,} replies none "
            "is a listed word; ask for more --replies, or leave it out where the model gives "
            "probabilities"
        )


def _why(record: RunRecord, share: float) -> str:
    """Return what the answers are instead of categories, and what may help."""
    counts = record.replies
    if not counts:
        return (
            f"{percent(share)} of the probability is on replies that are none of the options; ask "
            "with --chat, or another wording"
        )
    names = {"refusals": "refusals", "empty": "empty", "other": "something else"}
    parts = [
        f"{counts[f'replies_{kind}']:,} {name}"
        for kind, name in names.items()
        if counts.get(f"replies_{kind}")
    ]
    thinks = "; one that thinks needs more --load reply_tokens=N"
    advice = thinks if counts.get("replies_empty") else ""
    return (
        f"of {counts['replies']:,} replies only {counts['replies_words']:,} are one of the "
        f"categories ({', '.join(parts)}){advice}"
    )


def answered_groups(run: Run) -> list[dict[str, Any]]:
    """Return the rows of the groups; of a topic with a readout also what they are answered.

    other         share of the replies, or of their probability, that is no category
    rate          mean share of the favourable category, and its ratio to the highest rate
    impact_ratio  1 for the group with the highest rate
    rating        mean rating
    """
    rows = run.risks.groups_table()
    for name, values in _columns(run).items():
        for row, value in zip(rows, values.tolist(), strict=True):
            row[name] = plain(value)
    return rows


def _columns(run: Run) -> dict[str, FloatArray]:
    """Return what groups [X] are answered, by name; nothing of words."""
    table = parse_readout(run.record.topic.readout)
    if not table.asks:
        return {}
    columns: dict[str, FloatArray] = {}
    preferences = run.preferences
    means = preferences.grid.mean(preferences.values)
    shares = other_shares(preferences)
    if shares is not None:
        columns["other"] = shares
    favourable = run.outcome.favourable
    if favourable is not None:
        columns["rate"] = means[:, favourable]
        columns["impact_ratio"] = impact_ratios(means[:, favourable])
    if table.is_scale:
        columns["rating"] = means @ np.array(preferences.categories, dtype=float)
    return columns


def impact_ratios(rates: FloatArray) -> FloatArray:
    """Return the rate of each group over that of the best treated one [X]; NaN for missing groups.

    1 for the group with the highest rate; all NaN where no group has the answer at all. It has no
    interval: the lowest of many groups is low by chance alone.

    >>> impact_ratios(np.array([0.5, 0.4, np.nan])).tolist()
    [1.0, 0.8, nan]
    """
    best = np.nanmax(rates) if np.isfinite(rates).any() else np.nan
    if not best > 0:
        return np.full(rates.shape, np.nan)
    return np.asarray(rates / best)
