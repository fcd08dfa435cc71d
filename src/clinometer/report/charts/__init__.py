"""Charts as functions of plain tables: a frame in, an Altair chart out.

Each takes `width` (WIDE for a page, NARROW for a phone) and knows nothing about runs, so studies
use the same ones. `Figure` adds a title, a caption with its n, and a text alternative.
"""

from clinometer.report.charts.answers import MOST_GROUPS, answers
from clinometer.report.charts.boxes import boxes
from clinometer.report.charts.density import density
from clinometer.report.charts.heat import heat_map, heat_png
from clinometer.report.charts.knowledge import knowledge
from clinometer.report.charts.plane import plane
from clinometer.report.charts.regression import regression
from clinometer.report.charts.reliability import agreement, reliability
from clinometer.report.charts.risks import differences, intervals, stacked
from clinometer.report.charts.spread import convergence, coverage, shapes
from clinometer.report.charts.style.theme import NARROW, PALETTE, WIDE, brief
from clinometer.report.charts.trend import trend

__all__ = [
    "MOST_GROUPS",
    "NARROW",
    "PALETTE",
    "WIDE",
    "agreement",
    "answers",
    "boxes",
    "brief",
    "convergence",
    "coverage",
    "density",
    "differences",
    "heat_map",
    "heat_png",
    "intervals",
    "knowledge",
    "plane",
    "regression",
    "reliability",
    "shapes",
    "stacked",
    "trend",
]
