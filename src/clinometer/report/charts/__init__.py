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
    departures,
    heat_map,
    leans,
    regression,
    shapes,
    shares,
)
from clinometer.report.charts.reliability import least_stable
from clinometer.report.charts.several_models import (
    boxes,
    components,
    differences,
    intervals,
    knowledge,
    plane,
    ranked,
    spread,
    stacked,
    trend,
)
from clinometer.report.charts.style import NARROW, WIDE

__all__ = [
    "MOST_GROUPS",
    "NARROW",
    "WIDE",
    "answers",
    "boxes",
    "components",
    "convergence",
    "coverage",
    "density",
    "departures",
    "differences",
    "heat_map",
    "intervals",
    "knowledge",
    "leans",
    "least_stable",
    "plane",
    "ranked",
    "regression",
    "shapes",
    "shares",
    "spread",
    "stacked",
    "trend",
]
