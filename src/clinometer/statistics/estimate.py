"""A number with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from clinometer.errors import SettingsError
from clinometer.settings import LEVEL


@dataclass(frozen=True, repr=False)
class Estimate:
    """A number, the interval around it, and how both were made.

    >>> Estimate(0.21347, 0.187, 0.24, 0.95)
    0.213 (0.187 to 0.240)
    >>> Estimate(0.2).to_dict()
    {'value': 0.2, 'low': None, 'high': None, 'level': None, 'method': 'plug-in'}
    >>> float(Estimate(0.21347)), f"{Estimate(0.21347):.2f}"
    (0.21347, '0.21')
    """

    value: float
    """The estimate; finite."""

    low: float | None = None
    """Lower end of the interval; None when none has been computed. A corrected interval need not
    contain the plug-in value."""

    high: float | None = None
    """Upper end of the interval; None together with `low`."""

    level: float | None = None
    """The nominal coverage, for instance 0.95; None without an interval."""

    method: str = "plug-in"
    """ "plug-in", or the name of the correction or resampling."""

    note: str | None = None
    """Why there is no interval, where one was asked for; else None."""

    def __post_init__(self) -> None:
        """Raise for half an interval, a reversed one, and values that are not finite."""
        if not math.isfinite(self.value):
            raise SettingsError(f"value: expected a finite number, found {self.value}")
        if self.low is None and self.high is None and self.level is None:
            return
        if self.low is None or self.high is None or self.level is None:
            raise SettingsError(
                "interval: expected low, high and level together, found only some"
            )
        if not self.low <= self.high or not math.isfinite(self.high - self.low):
            raise SettingsError(
                f"interval: expected low <= high, found {self.low}, {self.high}"
            )
        LEVEL.check("level", self.level)

    def __repr__(self) -> str:
        if self.low is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        """Return the value in the given format; without one, what `repr` shows."""
        if spec:
            return format(self.value, spec)
        return repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON; the note only where there is one."""
        fields = dict(vars(self))
        if self.note is None:
            del fields["note"]
        return fields


def with_ends(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Return an estimate as three columns of a table; None in each without an estimate."""
    low_name = f"{name}_low"
    high_name = f"{name}_high"
    if estimate is None:
        return {name: None, low_name: None, high_name: None}
    return {name: estimate.value, low_name: estimate.low, high_name: estimate.high}


def around(
    value: float, low: float, high: float, level: float, method: str
) -> Estimate:
    """Return a value with an interval that is widened to hold it; alone where an end is NaN.

    >>> around(0.2, 0.25, 0.4, 0.95, "jackknife"), around(0.2, math.nan, 0.4, 0.95, "jackknife")
    (0.200 (0.200 to 0.400), 0.200)
    """
    if math.isnan(low) or math.isnan(high):
        return Estimate(value)
    return Estimate(value, min(low, value), max(high, value), level, method)
