"""Answers that fit no category."""

from __future__ import annotations

from clinometer.display.numbers import percent, risk
from clinometer.findings.finding import Finding
from clinometer.measure import Estimate
from clinometer.runs.folder.record import RunRecord

UNEVEN = 0.05
"""The group with most of it is named where it has this much more than all."""


def other(record: RunRecord) -> Finding | None:
    """Return the share of answers that fit no category, and what they could do to R where it is
    large; None for none, as of words."""
    share = record.other
    if share is None or share.share <= 0:
        return None
    numbers = {"share": Estimate(share.share)}
    words: dict[str, str] = {}
    what = "replies" if record.replies else "probability"
    text = f"{percent(share.share)} of the {what} is other (none of the categories)"
    if share.most > share.share + UNEVEN:
        numbers["most"] = Estimate(share.most)
        words["most"] = share.most_group
        text += f", most for {share.most_group} ({percent(share.most)})"
    if share.bounds is not None:
        low, high = share.bounds["R"]
        numbers["R low"] = Estimate(low)
        numbers["R high"] = Estimate(high)
        text += f"; if it were any category, R could be {risk(low)} to {risk(high)}"
    return Finding("other", f"{text}.", numbers=numbers, words=words)
