"""Is one model worse than another by more than a margin? Non-inferiority and equivalence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clinometer.measure.comparison.result import Comparison, Difference
from clinometer.ranges import POSITIVE

MARGIN_LEVEL = 0.9
"""Level of the intervals: each of the two one-sided tests then has a 5 % error rate."""


@dataclass(frozen=True)
class MarginVerdict:
    """What the interval of a difference (first minus second) says about a margin.

    verdict  "worse": the first is higher by more than the margin; "better": lower by more;
             "equivalent": within the margin either way; "not worse": less than the margin above
             the second; "cannot tell": none of these, or no interval
    """

    a: str
    b: str
    measure: str
    low: float | None
    high: float | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, ready for JSON."""
        return dict(vars(self))


def margin_verdicts(comparison: Comparison, margin: float) -> list[MarginVerdict]:
    """The verdict of each overall difference of a comparison made with `level` MARGIN_LEVEL."""
    POSITIVE.check("margin", margin)
    return [
        MarginVerdict(d.a, d.b, d.measure, d.low, d.high, _verdict(d, margin))
        for d in comparison.overall
    ]


def _verdict(d: Difference, margin: float) -> str:
    if d.low is None or d.high is None:
        return "cannot tell"
    if d.low > margin:
        return "worse"
    if d.high < -margin:
        return "better"
    if d.high < margin:
        return "equivalent" if d.low > -margin else "not worse"
    return "cannot tell"
