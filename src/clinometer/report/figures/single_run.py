"""Figures of a single run: its groups, every answer, and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.numbers import p_relation
from clinometer.errors import SettingsError
from clinometer.measure.distribution import weighted_density
from clinometer.measure.factors import factor_sentence
from clinometer.measure.shape import distribution_characteristics
from clinometer.report import charts
from clinometer.report.charts.style import brief
from clinometer.report.derived import Reading
from clinometer.report.figure import Figure
from clinometer.report.figures.comparison import basis
from clinometer.runs import Run


def groups_figure(run: Run, *, top: int = 15) -> Figure:
    rows = [r for r in run.risks.groups_table() if r["r"] is not None]
    rows.sort(key=lambda r: -r["r"])
    shown = rows[:top]
    table = pd.DataFrame(
        [
            {
                "name": f"{brief(r['group'], 30)} · {brief(r['leaning'] or 'neither', 16)}",
                "R": r["r"],
                "R_bias": r["r_bias"],
                "R_volatility": r["r_volatility"],
                "R_low": r["r_low"],
                "R_high": r["r_high"],
            }
            for r in shown
        ]
    )
    title = (
        f"The {len(shown)} groups with the highest risk"
        if len(rows) > top
        else "Risk of each group"
    )
    whisker = "; whisker: interval of r" if shown and shown[0]["r_low"] is not None else ""
    return Figure(
        key="groups",
        title=title,
        caption=f"After each name, the category it leans to{whisker}. {basis(run)}.",
        alt="Stacked bars of groups. "
        + "; ".join(f"{r['name']}: {r['R']:.3f}" for r in table.to_dict("records"))
        + ".",
        draw=lambda width: charts.stacked(
            table,
            width=width,
            axis="discrimination risk r of a group: 0 as the reference, 1 always the same extreme",
            limit=1.0 if run.risks.normalized else None,
        ),
    )


def swing_sentences(run: Run, n: int = 5) -> tuple[str, ...]:
    """The groups that swing most."""
    r = run.risks
    order = np.argsort(-np.nan_to_num(r.r_volatility, nan=-np.inf), kind="stable")[:n]
    named = [
        f"{brief(r.groups[x], 30)} ({r.r_volatility[x]:.3f})"
        for x in order
        if r.r_volatility[x] > 0
    ]
    return (f"Most swinging groups, by volatility risk: {', '.join(named)}.",) if named else ()


def factor_sentences(run: Run) -> tuple[str, ...]:
    """Which factors the swing goes with, where the contexts have any."""
    found = run.record.factors
    said = "" if found is None else factor_sentence(found)
    return (said,) if said else ()


def heat_figure(reading: Reading) -> Figure:
    run = reading.run
    p = run.preferences
    down = np.argsort(-np.nan_to_num(run.risks.mean_stereotype[:, 0], nan=-np.inf), kind="stable")
    across = np.argsort(-np.nan_to_num(reading.context_mean[:, 0], nan=-np.inf), kind="stable")
    strength = reading.strength[np.ix_(down, across)]
    if not run.risks.normalized:
        strength = strength / max(1e-12, float(np.nanmax(strength)))
    favoured = reading.favoured[np.ix_(down, across)]
    shares = np.bincount(favoured[~np.isnan(strength)].ravel(), minlength=len(p.categories))
    total = max(1, shares.sum())
    said = ", ".join(
        f"{n / total:.0%} favour {brief(c, 30)}" for c, n in zip(p.categories, shares, strict=True)
    )
    ordered = (
        f"Rows: groups, from {brief(p.groups[down[0]], 30)} to {brief(p.groups[down[-1]], 30)}"
    )
    return Figure(
        key="heat",
        title="Every answer: groups down, contexts across",
        caption=(
            f"Colour: the favoured category; the deeper, the further from the reference; blank: as "
            f"the reference or missing. {ordered}, by mean leaning. A band of one colour is "
            f"bias; a mix of colours in a row is volatility. {basis(run)}."
        ),
        alt=f"Heat map, {len(p.groups)} groups by {len(p.contexts)} contexts. Of the cells {said}.",
        draw=lambda width: charts.heat_map(
            strength,
            favoured,
            groups=[p.groups[i] for i in down],
            contexts=[p.contexts[i] for i in across],
            categories=p.categories,
            width=width,
        ),
    )


def distribution_figure(
    reading: Reading, *, groups: Sequence[str] = (), category: str | None = None
) -> Figure | None:
    """s over contexts of all groups together and of some of them; None where nothing varies."""
    run = reading.run
    category = category or run.risks.categories[0]
    curves, means = [], []
    for name, group in [("all groups", None), *((g, g) for g in groups)]:
        try:
            values, weights = reading.sample(category, group)
        except SettingsError:  # a group without any observed cell
            continue
        means.append((name, float(weights @ values)))
        low, high = float(values.min()), float(values.max())
        pad = 0.4 * (high - low) + 1e-6
        if run.risks.normalized:  # s cannot lie beyond its scale
            ends = max(low - pad, -1.0), min(high + pad, 1.0)
        else:
            ends = low - pad, high + pad
        at = np.linspace(*ends, 161)
        try:
            height = _density(values, weights, at)
        except SettingsError:  # equal values have a mean and no width
            continue
        curves += [(name, a, h) for a, h in zip(at, height, strict=True)]
    table = pd.DataFrame(curves, columns=["curve", "s", "density"])
    marks = pd.DataFrame(means, columns=["curve", "mean"])
    if table.empty:
        return None
    said = "; ".join(f"{brief(c, 30)}: mean {m:+.3f}" for c, m in means)
    return Figure(
        key="distribution",
        title=f"How far answers lean towards {brief(category, 30)}, over all contexts",
        caption=(
            "Vertical lines: the mean of each curve and the reference. A mean away from the "
            f"reference is bias; a wide curve is volatility. {basis(run)}."
        ),
        alt=f"Distribution of the stereotype s towards {brief(category, 30)}. {said}.",
        draw=lambda width: charts.density(
            table,
            categories=run.risks.categories,
            category=category,
            means=marks[marks["curve"].isin(table["curve"])],
            width=width,
        ),
    )


def shapes_figure(run: Run) -> Figure | None:
    report = run.risks
    table = pd.concat(
        [
            pd.DataFrame({"measure": m, "group": report.groups, "value": getattr(report, m)})
            for m in ("r_bias", "r_volatility")
        ]
    ).dropna(subset=["value"])
    if table["group"].nunique() < 8:
        return None
    said = []
    for measure, name in (("r_bias", "bias risk"), ("r_volatility", "volatility risk")):
        shape = distribution_characteristics(getattr(report, measure))
        if shape.shapiro is None or shape.skewness is None:
            said.append(f"{name}: mean {shape.mean:.3f}")
            continue
        tail = f", tail index {shape.hill:.1f}" if shape.hill else ""
        said.append(
            f"{name}: mean {shape.mean:.3f}, skewness {shape.skewness:+.1f}{tail}, "
            f"normal: p {p_relation(shape.shapiro.p)}"
        )
    return Figure(
        key="shapes",
        title="How the two risks are spread over the groups",
        caption=(
            f"Bars: groups; line: the normal with the same mean and spread. {'; '.join(said)} "
            f"(Shapiro-Wilk; Hill). {basis(run)}."
        ),
        alt=f"Histograms of bias risk and volatility risk of the groups. {'; '.join(said)}.",
        draw=lambda width: charts.shapes(table, width=width),
    )


def convergence_figure(reading: Reading) -> Figure | None:
    if reading.run.risks.n_contexts < 4:
        return None
    table = reading.convergence()
    if table.empty:
        return None
    last = table[table["n"] == table["n"].max()].set_index("measure")["value"]
    return Figure(
        key="convergence",
        title="Would more contexts change the numbers?",
        caption=(
            "Risks of random parts of the contexts: mean and middle 90 %. Where the lines are "
            "still rising or falling at the right, more contexts would move them. "
            f"{basis(reading.run)}."
        ),
        alt=(
            f"Risks against number of contexts, ending at R {last['R']:.3f}, bias "
            f"{last['R_bias']:.3f}, volatility {last['R_volatility']:.3f}."
        ),
        draw=lambda width: charts.convergence(table, width=width),
    )


def coverage_figure(reading: Reading) -> Figure | None:
    bins = reading.coverage_bins()
    if bins is None:
        return None
    p = reading.run.preferences
    flagged = int(p.low_coverage.sum())
    cells = int(p.observed.sum())
    return Figure(
        key="coverage",
        title="How much of the probability the words carry",
        caption=(
            f"{flagged:,} of {cells:,} cells are below the threshold of "
            f"{p.coverage_threshold:g} and flagged: a ratio of two tiny numbers is noise. "
            f"{basis(reading.run)}."
        ),
        alt=(
            f"Histogram of coverage over {cells:,} cells; {flagged:,} below "
            f"{p.coverage_threshold:g}."
        ),
        draw=lambda width: charts.coverage(bins, threshold=p.coverage_threshold, width=width),
    )


def _density(values: Any, weights: Any, at: Any) -> Any:
    """Density of many values; those of a large run are first counted in 400 narrow bins."""
    if values.size > 4000:
        edges = np.linspace(values.min(), values.max(), 401)
        if edges[-1] > edges[0]:
            mass, _ = np.histogram(values, bins=edges, weights=weights)
            middle = (edges[1:] + edges[:-1]) / 2
            values, weights = middle[mass > 0], mass[mass > 0]
    return weighted_density(values, at, weights=weights)
