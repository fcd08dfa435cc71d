"""Charts as functions of plain tables: a frame in, an Altair chart out.

Each takes `width` (WIDE for a page, NARROW for a phone) and knows nothing of runs, so studies use
the same ones. `Figure` puts a title, a caption with its n, and a text alternative to a chart.
"""

from tiltmeter.report.charts.answers import MOST_GROUPS, answers
from tiltmeter.report.charts.boxes import boxes
from tiltmeter.report.charts.density import density
from tiltmeter.report.charts.heat import heat_map, heat_png
from tiltmeter.report.charts.knowledge import knowledge
from tiltmeter.report.charts.plane import plane
from tiltmeter.report.charts.regression import regression
from tiltmeter.report.charts.reliability import agreement, reliability
from tiltmeter.report.charts.risks import differences, intervals, stacked
from tiltmeter.report.charts.spread import convergence, coverage, shapes
from tiltmeter.report.charts.theme import NARROW, PALETTE, WIDE, brief
from tiltmeter.report.charts.trend import trend

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
