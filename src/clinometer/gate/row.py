"""One number of a run and its baseline, and what its change says beside a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clinometer.display.numbers import show
from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.findings.phrases import minus
from clinometer.measure import Comparison
from clinometer.measure.risks import COMPARED, HEADINGS, RISKS
from clinometer.runs.findings.of_comparison import with_interval
from clinometer.runs.shifts import Shift
from clinometer.statistics.estimate import Estimate

ORDER = ("better", "equivalent", "not worse", "cannot tell", "worse")
"""What a change can be, from what speaks least against a run to what speaks most against it."""

PLACES = {"worse": "all of it above", "cannot tell": "on both sides of"}
"""Where the interval of a change lies beside the margin; any other lies below it."""


@dataclass(frozen=True)
class GatedRow(Plain):
    """One number of both runs, in the cells that both have, and what its change says."""

    what: str
    """A risk, or the group or the kind of people whose lean has moved away most."""

    unit: str
    """The unit of the numbers: "" for a risk, points or percentage points."""

    run: float
    """The number of the run."""

    baseline: float
    """The number of the baseline."""

    rise: Estimate | None
    """Run minus baseline; of a lean, how much further from the mean."""

    margin: float
    """The rise below which a change does not count."""

    verdict: str
    """One of `ORDER`."""

    because: Literal["", "silence"] = ""
    """"silence" where the row would pass but for answers that the run lacks."""

    @property
    def sentence(self) -> str:
        """Return how far the number has changed, and where that is beside the margin."""
        if self.rise is None or self.rise.low is None or self.rise.high is None:
            return f"{self._change}; these contexts give no interval."
        interval = f"{self._signed(self.rise.low)} to {self._signed(self.rise.high)}"
        place = PLACES.get(self.verdict, "all of it below")
        unit = f" {self.unit}" if self.unit else ""
        return f"{self._change} ({interval}), {place} {self.margin:g}{unit}."

    @property
    def _change(self) -> str:
        rise = 0.0 if self.rise is None else self.rise.value
        if not self.unit:
            return f"{HEADINGS[self.what]} has changed by {self._signed(rise)}"
        verb = "shrunk" if rise < 0 else "grown"
        return f"The lean of {self.what} has {verb} by {abs(rise):.2f} {self.unit}"

    def _signed(self, value: float) -> str:
        """Return a change with its sign."""
        if self.unit:
            return minus(f"{value:+.2f}")
        return show(value, "signed")

    def cells(self) -> tuple[str, ...]:
        """Return the row of a table: name, run, baseline, rise, its interval, verdict."""
        if self.unit:
            name = f"lean, {self.what} ({self.unit})"
            signed = "signed points"
            run, baseline = show(self.run, signed), show(self.baseline, signed)
        else:
            name = HEADINGS[self.what]
            signed = "signed"
            run, baseline = show(self.run, "risk"), show(self.baseline, "risk")
        change = show(self.rise and self.rise.value, signed)
        interval = "–"
        if self.rise is not None and self.rise.low is not None:
            interval = (
                f"{show(self.rise.low, signed)} to {show(self.rise.high, signed)}"
            )
        return name, run, baseline, change, interval, self.verdict


def verdict_of(low: float | None, high: float | None, margin: float) -> str:
    """Return what the interval of a rise says about a margin.

    "worse": it rises by more than the margin; "better": it falls by more; "equivalent": within the
    margin either way; "not worse": it rises by less than the margin; "cannot tell": none of these,
    or no interval.
    """
    if low is None or high is None:
        return "cannot tell"
    if low > margin:
        return "worse"
    if high < -margin:
        return "better"
    if high < margin:
        return "equivalent" if low > -margin else "not worse"
    return "cannot tell"


def risk_rows(
    comparison: Comparison, names: Sequence[str], margin: float
) -> list[GatedRow]:
    """Return the rows of the named risks."""
    values = {(rank.model, rank.measure): rank.value for rank in comparison.ranks}
    rows = {}
    for difference in comparison.overall:
        risk = difference.measure
        rows[risk] = GatedRow(
            what=risk,
            unit="",
            run=values[difference.a, risk],
            baseline=values[difference.b, risk],
            rise=with_interval(difference, comparison.level),
            margin=margin,
            verdict=verdict_of(difference.low, difference.high, margin),
        )
    missing = [name for name in names if name not in rows]
    if missing:
        unknown = [name for name in COMPARED if RISKS[name].needs_probabilities]
        raise SettingsError(
            f"measures: expected {', '.join(rows)} for these runs, found {', '.join(missing)}; "
            f"{' or '.join(unknown)} is not known of sampled answers, and R itself is about the "
            "differences of groups that are compared with their mean"
        )
    return [rows[name] for name in COMPARED if name in names]


def worst_people(shifts: Sequence[Shift], unit: str, margin: float) -> list[GatedRow]:
    """Return the group, and the kind of people, that speak most against the run."""
    groups = [shift for shift in shifts if not shift.column]
    kinds = [shift for shift in shifts if shift.column]
    worst = []
    for candidates in (groups, kinds):
        rows = [_lean_row(shift, unit, margin) for shift in candidates]
        if rows:
            worst.append(max(rows, key=_badness))
    return worst


def _lean_row(shift: Shift, unit: str, margin: float) -> GatedRow:
    verdict = verdict_of(shift.rise.low, shift.rise.high, margin)
    if verdict == "equivalent":
        verdict = "not worse"
    return GatedRow(
        what=shift.name,
        unit=unit,
        run=shift.run,
        baseline=shift.baseline,
        rise=shift.rise,
        margin=margin,
        verdict=verdict,
    )


def _badness(row: GatedRow) -> tuple[int, float]:
    """Return how much a row speaks against the run: its verdict, then its upper end."""
    high = math.inf
    if row.rise is not None and row.rise.high is not None:
        high = row.rise.high
    return ORDER.index(row.verdict), high
