"""Sentences about a lean: is it above shuffled words, and is it the same for every group?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clinometer.measure import RiskReport
from clinometer.runs.folder.record import FloorRecord
from clinometer.statistics.arrays import ROUNDING

if TYPE_CHECKING:
    from clinometer.runs.run import Run

CHANCE = 0.05
"""R is above its floor when at most this share of shuffles reaches it."""


def above_floor(run: Run) -> bool | None:
    """Whether R is above what shuffled words give; None if unknown."""
    floor = run.record.floor
    return None if floor is None else floor.p <= CHANCE


def groups_above_floor(floor: FloorRecord) -> bool:
    """Whether groups differ from each other more than with shuffled words."""
    known = floor.R_between is not None and not _all_alike(floor)
    return known and (floor.p_between or 0.0) <= CHANCE


def reference_in_words(run: Run) -> str:
    """What R measures from."""
    given = run.preferences.reference
    if isinstance(given, str):
        return "what all groups get in the same question"
    return "an even split" if given is None else "the given reference"


def group_sentences(run: Run) -> list[str]:
    """How R compares with shuffled words, how much of it is the same for every group, and how
    many groups lean clearly."""
    report, floor = run.risks, run.record.floor
    found = [floor_sentence(report, floor), split_sentence(report, floor), leaning_sentence(run)]
    return [f"{text[0].upper()}{text[1:]}." for text in found if text]


def leaning_sentence(run: Run) -> str:
    """How many groups lean clearly, and to what; "" for a single group."""
    seen = [found for found in run.leans if found.favoured is not None]
    if len(seen) < 2:
        return ""
    clear = Counter(found.category for found in seen if found.category is not None)
    if not clear:
        return f"none of {len(seen)} groups leans clearly"
    to = ", ".join(f"{n} to {category}" for category, n in clear.most_common())
    chance = 1 - run.record.settings.level
    known = all(found.p is None for found in seen)
    sure = "" if known else f" (on average at most {100 * chance:.0f} % of such a list is wrong)"
    return f"{clear.total()} of {len(seen)} groups lean clearly, {to}{sure}"


def floor_sentence(report: RiskReport, floor: FloorRecord | None) -> str:
    """R against shuffled words; "" where there is nothing to say."""
    if floor is None or report.R.value == 0:
        return ""
    if _all_alike(floor):
        return (
            f"R {report.R.value:.2f} is the same however the words are shuffled: lists this short "
            "cannot tell a lean from how common the words are"
        )
    given = (
        f"what shuffled words give ({floor.R.value:.2f}; the middle 95 % of shuffles "
        f"{floor.R.low:.2f} to {floor.R.high:.2f})"
    )
    if floor.p <= CHANCE:
        return f"R {report.R.value:.2f} is above {given}"
    return (
        f"R {report.R.value:.2f} is not above {given}: its size says nothing about these categories"
    )


def split_sentence(report: RiskReport, floor: FloorRecord | None = None) -> str:
    """How much of R the groups share, and how far they differ; "" for a single group."""
    shared, between = report.R_shared, report.R_between
    if shared is None or between is None or report.R.value == 0:
        return ""
    a, b = f"{shared.value:.2f}", f"{between.value:.2f}"
    by_chance = ""
    if floor is not None and floor.R_between is not None and not _all_alike(floor):
        more = "more" if groups_above_floor(floor) else "no more"
        by_chance = f", {more} than with shuffled words ({floor.R_between.value:.2f})"
    least, most = (e.value if e.low is None else e.low for e in (shared, between))
    if least > (between.value if between.high is None else between.high):
        return (
            f"most of this lean is the same for every group ({a} of R {report.R.value:.2f}); "
            f"groups differ by {b} in the same context{by_chance}"
        )
    if most > (shared.value if shared.high is None else shared.high):
        return (
            f"most of this lean differs between groups ({b} in the same context{by_chance}); "
            f"{a} is the same for every group"
        )
    return (
        f"{a} of this lean is the same for every group, and groups differ by {b} in the same "
        f"context{by_chance}; it is not clear which is larger"
    )


def chance_headline(report: RiskReport, floor: FloorRecord) -> str:
    """Both in one short sentence, for an R that is not above its floor."""
    if _all_alike(floor):
        return floor_sentence(report, floor)
    said = f"R {report.R.value:.2f} is not above what shuffled words give ({floor.R.value:.2f})"
    shared, between = report.R_shared, report.R_between
    if shared is None or between is None:
        return said
    return (
        f"{said}; {shared.value:.2f} of it is the same for every group, and groups differ by "
        f"{between.value:.2f}"
    )


def _all_alike(floor: FloorRecord) -> bool:
    """Whether every shuffle gives the same R: with one word per category only the names change."""
    return (floor.R.high or 0.0) - (floor.R.low or 0.0) < ROUNDING
