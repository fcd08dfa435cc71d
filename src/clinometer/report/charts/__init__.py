"""Charts as functions of plain tables: a frame in, a specification of Vega-Lite out.

Each takes `width` (WIDE for a page, NARROW for a phone) and knows nothing about runs, so studies
use the same ones. `Figure` adds a title, a caption with its n, and a text alternative.
"""

from clinometer.report.charts.one_model import (
    MOST_GROUPS,
    MOST_ON_A_PHONE,
    answers,
    cobias,
    density,
    departures,
    leans,
    regression,
    shares,
)
from clinometer.report.charts.reliability import disagreements, growing_dissimilarity
from clinometer.report.charts.several_models import (
    Panel,
    arrows,
    differences,
    measures,
    plane,
    risks,
    spread,
    trend,
)
from clinometer.report.charts.style import NARROW, WIDE, Spec

__all__ = [
    "MOST_GROUPS",
    "MOST_ON_A_PHONE",
    "NARROW",
    "WIDE",
    "Panel",
    "Spec",
    "answers",
    "arrows",
    "cobias",
    "density",
    "departures",
    "differences",
    "disagreements",
    "growing_dissimilarity",
    "leans",
    "measures",
    "plane",
    "regression",
    "risks",
    "shares",
    "spread",
    "trend",
]
