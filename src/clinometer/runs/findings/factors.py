"""What the swing between contexts goes with."""

from __future__ import annotations

from clinometer.display.numbers import percent
from clinometer.findings.finding import Finding
from clinometer.findings.phrases import capital, share_range
from clinometer.measure import Estimate
from clinometer.measure.factors import FactorShares
from clinometer.runs.folder.record import RunRecord


def factors(record: RunRecord) -> Finding | None:
    """Return what the swing between contexts goes with, the largest share first; None where nothing
    is known of any share."""
    shares = record.factors
    if shares is None:
        return None
    by_factor = {factor.name: factor.share for factor in shares.factors if factor.share}
    estimates = [*by_factor.values(), shares.rest]
    nothing_known = all(share.low == 0 and share.high == 1 for share in estimates)
    if not by_factor or nothing_known:
        return None
    order = sorted(by_factor, key=lambda name: -by_factor[name].value)
    rest = "none of them alone" if len(order) > 1 else "anything else"
    groups = {**{name: by_factor[name] for name in order}, rest: shares.rest}
    clauses: list[str] = []
    for name, share in groups.items():
        verb = "" if clauses else " goes"
        clauses.append(f"{_share(share)}{verb} with {name}")
    text = f"Of the swing between contexts {', '.join(clauses)}."
    return Finding("factors", text, groups=groups)


def _share(share: Estimate) -> str:
    """Return a share with its interval."""
    if share.low is None or share.high is None:
        return percent(share.value)
    return f"{percent(share.value)} ({share_range(share.low, share.high)})"


def factor_notes(shares: FactorShares, *, clusters: str | None) -> list[str]:
    """Return what a reader of the shares must know: what is resampled, and what is unknown."""
    notes = []
    if shares.note is not None:
        notes.append(f"{capital(shares.note)}.")
    for factor in shares.factors:
        if factor.note:
            notes.append(f"The share of {factor.name} is unknown: {factor.note}.")
    if shares.unit is not None and clusters is None:
        notes.append(
            f"The contexts share {shares.n_units} levels of {shares.unit}: --clusters "
            f"{shares.unit} gives intervals of R, Rᵇ and Rᵛ that allow for it."
        )
    return notes


def resampled(shares: FactorShares) -> str:
    """Return what the intervals of the shares speak of."""
    if shares.unit is None:
        return "Intervals: contexts are a sample, the levels of the factors are taken as they are."
    return (
        f"Intervals: levels of {shares.unit} are a sample, those of other factors are taken as "
        "they are."
    )
