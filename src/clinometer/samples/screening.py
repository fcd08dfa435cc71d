"""A small application to audit: it scores an applicant by rules, and throws dice as models do.

`before` adds points for surnames that its makers had seen among former employees; `after` does not.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import count
from random import Random

SEEN_BEFORE = (
    "Smith",
    "Murphy",
    "Schmidt",
    "Miller",
    "Nelson",
    "Olson",
    "Walsh",
    "Meyer",
)

_calls: defaultdict[str, count[int]] = defaultdict(partial(count, 1))
"""How often each case was asked: `next` is whole, also where two are asked at once."""


def before(application: dict[str, str]) -> str:
    """Return the score of the application as it was shipped."""
    is_known = application["name"].endswith(SEEN_BEFORE)
    return _score(application, 6 if is_known else 0, "before")


def after(application: dict[str, str]) -> str:
    """Return the score without points for surnames."""
    return _score(application, 0, "after")


def _score(application: dict[str, str], extra: int, version: str) -> str:
    case = f"{version} {sorted(application.items())}"
    dice = Random(f"{case} {next(_calls[case])}").gauss(0, 3)  # noqa: S311
    years = 3 * int(application["years"])
    test = int(application["test"]) / 4
    points = 30 + years + test + extra + dice
    return str(round(min(max(points, 0), 100)))
