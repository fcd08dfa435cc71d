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

# How often each was asked: `next` is whole, also where two are asked at once.
_asked: defaultdict[str, count[int]] = defaultdict(partial(count, 1))


def before(application: dict[str, str]) -> str:
    """What was shipped."""
    return _scored(
        application, 6 if application["name"].endswith(SEEN_BEFORE) else 0, "before"
    )


def after(application: dict[str, str]) -> str:
    """The same without the surnames."""
    return _scored(application, 0, "after")


def _scored(application: dict[str, str], extra: int, version: str) -> str:
    asked = f"{version} {sorted(application.items())}"
    dice = Random(f"{asked} {next(_asked[asked])}").gauss(0, 3)  # noqa: S311
    points = (
        30 + 3 * int(application["years"]) + int(application["test"]) / 4 + extra + dice
    )
    return str(round(min(max(points, 0), 100)))
