"""A figure of a risk against a social factor, from plain numbers (Figures 9, 12 to 15)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clinometer.display.numbers import AXES, p_relation, show
from clinometer.report import charts
from clinometer.report.figure import Figure
from clinometer.statistics.regression import regress

#: Names of the built-in factors as an axis shows them.
FACTOR_NAMES = {
    "median_annual_wage_usd": "median pay, US$ a year",
    "mean_years_education": "mean years of education",
    "percent_women": "share of women, %",
    "log10_per_million_words": "frequency of the word, log₁₀ per million",
}

#: The unit of a slope: (number of units, in words).
_STEPS = {
    "median_annual_wage_usd": (10_000, "US$ 10,000 more a year"),
    "mean_years_education": (1, "year of education"),
    "percent_women": (10, "10 points more women"),
    "log10_per_million_words": (1, "tenfold frequency"),
}


def factor_figure(
    y: ArrayLike,
    x: ArrayLike,
    *,
    factor: str,
    groups: Sequence[str],
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    weight_name: str = "people employed, thousands",
    measure: str = "r",
    basis: str = "",
) -> Figure:
    """Groups as points (sized by weight), the fitted line and its interval band.

    Arguments as for `measure.regress`, which makes the fit; `basis` describes the risks' basis.
    Fewer than four groups with both numbers, or a factor that does not vary, are errors.
    """
    name = FACTOR_NAMES.get(factor, factor.replace("_", " "))
    table = pd.DataFrame({"group": list(groups), "x": x, "y": y})
    if weights is not None:
        table["size"] = np.asarray(weights, dtype=float)
    fit = regress(y, {factor: x}, weights=weights, y_se=y_se)
    used = ~table.isna().any(axis=1) & (table["size"] > 0 if weights is not None else True)
    table = table[used]
    line = regression_line(y, x, weights=weights, y_se=y_se, points=table["x"])
    slope = fit[factor]
    step, unit = _STEPS.get(factor, (1, "unit"))
    value, low, high = (show(step * v, "signed") for v in (slope.value, slope.low, slope.high))
    found = (
        f"{value} per {unit} ({100 * fit.level:g} % interval {low} to {high}, p "
        f"{p_relation(slope.p)})"
    )
    shown = AXES.get(measure, measure)
    title = f"{shown[:1].upper()}{shown[1:]} against {name}"
    sized = f", sized by {weight_name}" if weights is not None else ""
    return Figure(
        key=f"factor-{factor.replace('_', '-')}",
        title=title,
        caption=(
            f"One point per group{sized}; line: weighted least squares, shaded: its interval. "
            f"{found}. n = {fit.n} groups{'; ' + basis if basis else ''}. A slope says that the "
            "two go together, not why."
        ),
        alt=f"Scatter plot. {title}: {found.lower()}; {fit.n} groups.",
        draw=lambda width: charts.regression(
            table,
            line,
            factor=name,
            measure=AXES.get(measure, measure),
            size=weight_name if weights is not None else None,
            width=width,
        ),
        table=table,
    )


def regression_line(
    y: ArrayLike,
    x: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    y_se: ArrayLike | None = None,
    points: ArrayLike | None = None,
) -> pd.DataFrame:
    """x, y, low, high of the fitted line over the range of `points` (of x when not given).

    The interval at a point is that of the intercept with x measured from there: the same robust
    errors as the slope's, without a separate formula.
    """
    values = np.asarray(x, dtype=float)
    seen = values if points is None else np.asarray(points, dtype=float)
    rows = []
    for at in np.linspace(np.nanmin(seen), np.nanmax(seen), 25):
        here = regress(y, {"x": values - at}, weights=weights, y_se=y_se)["intercept"]
        rows.append((float(at), here.value, here.low, here.high))
    return pd.DataFrame(rows, columns=["x", "y", "low", "high"])
