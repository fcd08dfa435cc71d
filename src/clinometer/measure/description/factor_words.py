"""Shares of factors in words."""

from __future__ import annotations

from clinometer.display.numbers import percent
from clinometer.measure.description.factor_shares import FactorShares
from clinometer.statistics.estimate import Estimate


def factor_sentence(found: FactorShares) -> str:
    """What makes the answers swing, largest share first.

    >>> from clinometer.measure.description.factor_shares import FactorShare
    >>> shares = FactorShares("wording", 40, 0.1, [
    ...     FactorShare("order", 6, Estimate(0.24, 0.2, 0.29, 0.95)),
    ...     FactorShare("wording", 40, Estimate(0.61, 0.52, 0.69, 0.95))],
    ...     Estimate(0.15, 0.12, 0.2, 0.95))
    >>> factor_sentence(shares)
    'Of the swing between contexts 61 % (52–69 %) goes with wording, 24 % (20–29 %) with order, \
15 % (12–20 %) with none of them alone.'
    """
    known = [(f.name, f.share) for f in found.factors if f.share is not None]
    known.sort(key=lambda pair: -pair[1].value)
    if not known:
        return ""
    parts = [f"{share_in_words(share)} with {name}" for name, share in known]
    parts[0] = parts[0].replace(" with ", " goes with ", 1)
    alone = "none of them alone" if len(known) > 1 else "anything else"
    return (
        f"Of the swing between contexts {', '.join(parts)}, {share_in_words(found.rest)} with "
        f"{alone}."
    )


def factor_notes(found: FactorShares, *, clusters: str | None) -> list[str]:
    """What a reader of the shares must know: what is resampled, and what is unknown."""
    notes = [] if found.note is None else [f"{found.note[0].upper()}{found.note[1:]}."]
    notes += [f"The share of {f.name} is unknown: {f.note}." for f in found.factors if f.note]
    if found.unit is not None and clusters is None:
        notes.append(
            f"The contexts share {found.n_units} levels of {found.unit}: --cluster {found.unit} "
            "gives intervals of R, Rᵇ and Rᵛ that allow for it."
        )
    return notes


def resampled(found: FactorShares) -> str:
    """What the intervals of the shares speak of."""
    if found.unit is None:
        return "Intervals: contexts are a sample, the levels of the factors are taken as they are."
    return (
        f"Intervals: levels of {found.unit} are a sample, those of other factors are taken as "
        "they are."
    )


def share_in_words(share: Estimate) -> str:
    """61 % (52–69 %).

    >>> share_in_words(Estimate(0.004, 0.0, 0.02, 0.95)), share_in_words(Estimate(0.61))
    ('0.4 % (0–2.0 %)', '61 %')
    """
    if share.low is None or share.high is None:
        return percent(share.value)
    low, high = percent(share.low), percent(share.high)
    ends = low if low == high else f"{low.removesuffix(' %')}–{high}"
    return f"{percent(share.value)} ({ends})"
