"""Charts as functions of plain tables: a frame in, an Altair chart out.

Each takes `width` (WIDE for a page, NARROW for a phone) and knows nothing about runs, so studies
use the same ones. `Figure` adds a title, a caption with its n, and a text alternative.
"""

from clinometer.report.charts.one_model import (
    MOST_GROUPS,
    answers,
    convergence,
    coverage,
    density,
    heat_map,
    heat_png,
    knowledge,
    regression,
    shapes,
)
from clinometer.report.charts.reliability import agreement, reliability
from clinometer.report.charts.several_models import (
    boxes,
    differences,
    intervals,
    plane,
    stacked,
    trend,
)
from clinometer.report.charts.style import NARROW, PALETTE, WIDE, brief

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
