"""R and bias risk beside what shuffled words give."""

from __future__ import annotations

from clinometer.display.numbers import between, risk
from clinometer.findings.finding import Finding, Sure
from clinometer.findings.phrases import capital
from clinometer.measure import Estimate
from clinometer.measure.risks import RISKS
from clinometer.runs.findings.facts import RunFacts
from clinometer.runs.folder.record import FloorRecord
from clinometer.statistics.arrays import ROUNDING

CHANCE = 0.05
"""A risk is above its floor when at most this share of shuffles reaches it."""


def shuffled(facts: RunFacts) -> Finding | None:
    """Return R and R^b beside what the same words give when they are shuffled between the
    categories."""
    floor = facts.floor
    if floor is None:
        return None
    R, bias = facts.report.R.value, facts.report.R_bias.value
    numbers = {
        "R": Estimate(R),
        "R_bias": Estimate(bias),
        "R shuffled": floor.R,
        "R_bias shuffled": floor.R_bias,
    }
    if is_flat(floor):
        text = (
            f"Shuffled between the categories, the same words give the same R "
            f"({risk(floor.R.value)}): lists this short cannot tell how much of its size comes "
            "from the words."
        )
        return facts.finding("shuffled", text, "cannot tell", numbers=numbers)
    R_is_above = floor.p <= CHANCE
    bias_is_above = bias > (floor.R_bias.high or 0.0)
    text = (
        f"{capital(_beside('R', R, above=R_is_above))} what the same words give when they are "
        f"shuffled between the categories ({between(floor.R.low, floor.R.high)}); "
        f"{_beside('R_bias', bias, above=bias_is_above)} it "
        f"({between(floor.R_bias.low, floor.R_bias.high)})."
    )
    sure: Sure = "clear" if R_is_above and bias_is_above else "unclear"
    tally = {"R": int(R_is_above), "R_bias": int(bias_is_above)}
    return facts.finding("shuffled", text, sure, tally=tally, numbers=numbers)


def _beside(measure: str, value: float, *, above: bool) -> str:
    """Return whether a risk is above: "bias risk 0.210 is not above"."""
    verb = "is above" if above else "is not above"
    return f"{RISKS[measure].in_sentences} {risk(value)} {verb}"


def is_flat(floor: FloorRecord) -> bool:
    """Return whether every shuffle gives the same R: with one word per category only the names
    change."""
    return (floor.R.high or 0.0) - (floor.R.low or 0.0) < ROUNDING
