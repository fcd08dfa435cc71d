"""The size of R, how steady it is, and how much of it the groups share."""

from __future__ import annotations

from dataclasses import replace

from clinometer.display.numbers import between, counted, percent, risk
from clinometer.findings.finding import Finding, Sure
from clinometer.findings.phrases import share_range
from clinometer.measure import Estimate
from clinometer.runs.findings.facts import RunFacts
from clinometer.runs.findings.shuffled import is_flat
from clinometer.statistics.arrays import ROUNDING

WIDE = 0.5
"""An interval of the steady share that is wider than this does not say which it is."""


def size(facts: RunFacts) -> Finding:
    """Return R and its interval, and what the interval is about."""
    R = facts.report.R
    numbers = {"R": R}
    brackets = []
    if R.low == 0 and facts.clear:
        # Wide from few contexts, but some group leans: R is not 0.
        brackets.append(f"above 0, up to {risk(R.high)}")
    elif R.low is not None and R.high is not None:
        brackets.append(between(R.low, R.high, to=" to "))
    points = facts.outcome.in_points(R.value)
    if points is not None:
        numbers["points"] = Estimate(points)
        brackets.append(facts.outcome.unit.amount(points))
    in_brackets = f" ({'; '.join(brackets)})" if brackets else ""
    contexts = counted(facts.report.n_contexts, facts.nouns.context)
    if facts.report.n_eff < facts.report.n_contexts - 0.5:
        contexts += f", worth about {max(round(facts.report.n_eff), 1)}"
    text = (
        f"R is {risk(R.value)}{facts.outcome.risk_words}{in_brackets}, the distance from "
        f"{facts.reference}; {contexts}; {_about(R)}."
    )
    return facts.finding("size", text, _sure_of_size(facts), numbers=numbers)


def _about(R: Estimate) -> str:
    """Return what the interval of R is about, or why there is none."""
    if not R.note:
        return in_words(R)
    if R.low is None:
        return f"no interval: {R.note}"
    return f"{in_words(R)}; {R.note}"


def _sure_of_size(facts: RunFacts) -> Sure:
    R = facts.report.R
    if facts.exact:
        return "exact"
    if R.low is None or facts.too_few:
        return "cannot tell"
    return "clear" if facts.clear or R.low > 0 else "unclear"


def in_words(interval: Estimate) -> str:
    """Return what the interval of a risk is about, or that there is none.

    >>> in_words(Estimate(0.4, 0.3, 0.5, 0.95))
    '95 % intervals for contexts of this kind'
    """
    if interval.level is None:
        return "no intervals"
    return f"{100 * interval.level:g} % intervals for contexts of this kind"


def steady(facts: RunFacts) -> Finding | None:
    """Return how much of R is a steady lean, as far as the interval of the bias risk shows; None
    where there is none, or where the parts of replies say it."""
    R, bias, swing = (
        facts.report.R.value,
        facts.report.R_bias,
        facts.report.R_volatility,
    )
    if R <= ROUNDING or facts.parts is not None:
        return None
    share = Estimate(swing.value / R)
    sure: Sure = "exact" if facts.exact else "cannot tell"
    if (
        bias.low is not None
        and bias.high is not None
        and bias.level
        and not facts.too_few
    ):
        low = max(0.0, 1 - bias.high / R)
        high = min(1.0, 1 - bias.low / R)
        share = replace(share, low=low, high=high, level=bias.level)
        if not facts.exact and high - low <= WIDE:
            sure = "clear"
    numbers = {"swing share": share, "R_bias": bias, "R_volatility": swing}
    return facts.finding(
        "steady", _how_steady(facts, share, sure), sure, numbers=numbers
    )


def _how_steady(facts: RunFacts, share: Estimate, sure: Sure) -> str:
    """Return the sentence of the share of R that swings."""
    swings = f"swings with the {facts.nouns.context}"
    if sure == "exact" and share.value <= 1e-9:
        return f"All of R is a steady lean; nothing {swings}."
    if sure == "exact":
        return f"{percent(1 - share.value)} of R is a steady lean, the rest {swings}."
    low, high = share.low, share.high
    if sure == "cannot tell" or low is None or high is None:
        basis = "so few replies" if facts.preferences.noisy else facts.basis
        return f"How much of R is steady and how much {swings} cannot be told from {basis}."
    if low >= 0.95:
        return f"Nearly all of R {swings}."
    if high <= 0.05:
        return "Nearly all of R is a steady lean."
    if low >= 0.5:
        return f"Most of R ({share_range(low, high)}) {swings}; the rest is steady."
    most = "Most" if high <= 0.5 else "About half"
    how_much = share_range(1 - high, 1 - low)
    return f"{most} of R ({how_much}) is a steady lean; the rest {swings}."


def shared(facts: RunFacts) -> Finding | None:
    """Return how much of R the groups share, and how far they differ; None for a single group."""
    common, between_groups = facts.report.R_shared, facts.report.R_between
    if common is None or between_groups is None:
        return None
    numbers = {"R_shared": common, "R_between": between_groups}
    by_chance = ""
    floor = facts.floor
    if floor is not None and floor.R_between is not None and not is_flat(floor):
        numbers["shuffled"] = floor.R_between
        by_chance = f" ({risk(floor.R_between.value)} with shuffled words)"
    one, many = facts.nouns.one, facts.nouns.many
    of_groups = (
        f"{many} differ by {risk(between_groups.value)} in the same {facts.nouns.context}"
        f"{by_chance}"
    )
    amount = risk(common.value)
    if _lower(common) > _upper(between_groups):
        text = f"Most of R is the same for every {one} ({amount}); {of_groups}."
    elif _lower(between_groups) > _upper(common):
        text = (
            f"Most of R differs between {many}: {of_groups}; {amount} is common to all."
        )
    else:
        text = f"{amount} of R is the same for every {one}, and {of_groups}."
    return facts.finding("shared", text, numbers=numbers)


def _lower(number: Estimate) -> float:
    """Return the lower end of an interval; the value without one."""
    return number.value if number.low is None else number.low


def _upper(number: Estimate) -> float:
    """Return the upper end of an interval; the value without one."""
    return number.value if number.high is None else number.high
