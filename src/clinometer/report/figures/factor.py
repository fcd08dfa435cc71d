"""A number of each group against a social factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clinometer.display.numbers import p_relation, show
from clinometer.measure.risks import GROUP_RISKS
from clinometer.report.charts.regression import regression_chart
from clinometer.report.figure import Figure
from clinometer.statistics.regression import Regression, regress

FACTOR_NAMES = {
    "median_annual_wage_usd": "median pay, US$ a year",
    "mean_years_education": "mean years of education",
    "percent_women": "share of women, %",
    "log10_per_million_words": "frequency of the word, log₁₀ per million",
    "log10_per_million_listed": "frequency of the word in the list, log₁₀ per million",
}
"""Names of the built-in factors as an axis shows them."""

FACTOR_STEPS = {
    "median_annual_wage_usd": (10_000, "US$ 10,000 more a year"),
    "mean_years_education": (1, "year of education"),
    "percent_women": (10, "10 points more women"),
    "log10_per_million_words": (1, "tenfold frequency"),
    "log10_per_million_listed": (1, "tenfold frequency"),
}
"""The unit of a slope: (number of units, in words)."""


def factor_figure(
    y: ArrayLike,
    x: ArrayLike,
    *,
    factor: str,
    groups: Sequence[str],
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    measure: str = "r",
    basis: str = "",
    source: str = "",
    largest_p: float = 1.0,
) -> Figure | str:
    """Return groups as points (sized by weight), the fitted line and its interval band; where the
    slope's p is above `largest_p`, the slope as a line of text, because a band that fills the plot
    shows nothing.

    Arguments as for `measure.regress`, which makes the fit; `basis` describes the risks' basis, and
    `source` says where the factor and the weights come from.
    Fewer than four groups with both numbers, or a factor that does not vary, are errors.
    """
    name = FACTOR_NAMES.get(factor, factor.replace("_", " "))
    is_risk = measure in GROUP_RISKS
    measure_name = GROUP_RISKS[measure].axis if is_risk else measure
    fit = regress(y, {factor: x}, weights=weights, y_se=y_se)
    slope = _slope_text(fit, factor)
    title = f"{measure_name[:1].upper()}{measure_name[1:]} against {name}"
    p_value = fit[factor].p
    if p_value is not None and p_value > largest_p:
        return f"{title}: {slope}; {fit.n} groups."
    table = pd.DataFrame({"group": list(groups), "x": x, "y": y})
    size = None
    sized_by = ""
    if weights is not None:
        size = "people employed, thousands"
        sized_by = f", sized by {size}"
        table["size"] = np.asarray(weights, dtype=float)
        table = table[table["size"] > 0]
    table = table.dropna(subset=table.columns.drop("group"))
    line = regression_line(y, x, points=table["x"], weights=weights, y_se=y_se)
    kind = "factor" if is_risk else "lean"
    return Figure(
        key=f"{kind}-{factor.replace('_', '-')}",
        title=title,
        caption=(
            f"One point per group{sized_by}; line: weighted least squares, shaded: its interval. "
            f"{slope}. n = {fit.n} groups{'; ' + basis if basis else ''}. A slope says that the "
            f"two go together, not why.{' ' + source if source else ''}"
        ),
        alt=f"Scatter plot. {title}: {slope.lower()}; {fit.n} groups.",
        draw=lambda width: regression_chart(
            table, line, factor=name, measure=measure_name, size=size, width=width
        ),
        table=table,
    )


def _slope_text(fit: Regression, factor: str) -> str:
    """Return the slope with its interval and its p, per unit of the factor."""
    slope = fit[factor]
    step, unit = FACTOR_STEPS.get(factor, (1, "unit"))
    value, low, high = (
        show(step * number, "signed") for number in (slope.value, slope.low, slope.high)
    )
    interval = f"{100 * fit.level:g} % interval {low} to {high}"
    return f"{value} per {unit} ({interval}, p {p_relation(slope.p)})"


def regression_line(
    y: ArrayLike,
    x: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    points: ArrayLike | None = None,
) -> pd.DataFrame:
    """Return x, y, low, high of the fitted line over the range of `points` (of x when not given).

    The interval at a point is that of the intercept with x measured from there: the same robust
    errors as the slope's, without a separate formula.
    """
    values = np.asarray(x, dtype=float)
    drawn = values if points is None else np.asarray(points, dtype=float)
    rows = []
    for position in np.linspace(np.nanmin(drawn), np.nanmax(drawn), 25):
        fit = regress(y, {"x": values - position}, weights=weights, y_se=y_se)
        height = fit["intercept"]
        rows.append((float(position), height.value, height.low, height.high))
    return pd.DataFrame(rows, columns=["x", "y", "low", "high"])
