"""How answers spread over contexts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clinometer.display.text import brief
from clinometer.errors import SettingsError
from clinometer.measure.distribution import stereotype_sample, weighted_density
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.density import density_chart
from clinometer.report.figure import Figure
from clinometer.report.figures.run_words import basis
from clinometer.statistics.arrays import FloatArray

_MOST_VALUES = 4000
"""A density of more values is that of their counts in narrow bins."""


def distribution_figure(
    cells: CellStatistics, *, groups: Sequence[str] = ()
) -> Figure | None:
    """Return s over contexts of all groups together and of some of them; None where nothing
    varies."""
    run = cells.run
    is_pair = len(run.preferences.categories) == 2
    category = run.risks.categories[run.outcome.far_end if is_pair else 0]
    curves = []
    means = []
    for group in (None, *groups):
        name = group or "all groups"
        try:
            values, weights = stereotype_sample(run.preferences.grid, category, group)
        except SettingsError:  # a group without any observed cell
            continue
        means.append((name, float(weights @ values)))
        s = _axis_of(values, normalized=run.risks.criterion.normalize)
        try:
            heights = _density(values, weights, s)
        except SettingsError:  # equal values have a mean and no width
            continue
        curves += [(name, *point) for point in zip(s, heights, strict=True)]
    if not curves:
        return None
    table = pd.DataFrame(curves, columns=["curve", "s", "density"])
    lines = pd.DataFrame(means, columns=["curve", "mean"])
    mean_texts = "; ".join(
        f"{brief(name, 30)}: mean {mean:+.3f}" for name, mean in means
    )
    return Figure(
        key="distribution",
        title=f"How far answers lean towards {brief(category, 30)}, over all contexts",
        caption=(
            "Vertical lines: the mean of each curve and the reference. A mean away from the "
            f"reference is bias; a wide curve is volatility. {basis(run)}."
        ),
        alt=f"Distribution of the stereotype s towards {brief(category, 30)}. {mean_texts}.",
        draw=lambda width: density_chart(
            table,
            categories=run.risks.categories,
            category=category,
            means=lines[lines["curve"].isin(table["curve"])],
            width=width,
        ),
    )


def _axis_of(values: FloatArray, *, normalized: bool) -> FloatArray:
    """Return the values of s at which a density is drawn: beyond its values, not beyond its
    scale."""
    low = float(values.min())
    high = float(values.max())
    margin = 0.4 * (high - low) + 1e-6
    if normalized:
        return np.linspace(max(low - margin, -1.0), min(high + margin, 1.0), 161)
    return np.linspace(low - margin, high + margin, 161)


def _density(values: FloatArray, weights: FloatArray, s: FloatArray) -> FloatArray:
    """Return the density of values; those of a large run are first counted in 400 narrow bins."""
    if values.size > _MOST_VALUES and values.max() > values.min():
        edges = np.linspace(values.min(), values.max(), 401)
        mass, _ = np.histogram(values, bins=edges, weights=weights)
        middles = (edges[1:] + edges[:-1]) / 2
        values = middles[mass > 0]
        weights = mass[mass > 0]
    return weighted_density(values, s, weights=weights)
