"""The figures of a report: runs in, `Figure`s out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tiltmeter.errors import SettingsError
from tiltmeter.measure import (
    Comparison,
    distribution_characteristics,
    reference_risks,
    weighted_density,
)
from tiltmeter.report import charts
from tiltmeter.report.charts.theme import brief
from tiltmeter.report.figure import Figure
from tiltmeter.report.reading import Reading
from tiltmeter.runs import Run

REFERENCES = (
    ("Ideally unbiased", "unbiased"),
    ("Stereotyped", "stereotyped"),
    ("Randomly stereotyped", "random"),
)


def basis(run: Run) -> str:
    """What every number of a run rests on: no chart is shown without it."""
    report = run.report
    seen = len(report.groups) - len(report.missing_groups)
    text = f"n = {seen} groups × {report.n_contexts:,} contexts, n_eff = {report.n_eff:,.1f}"
    return text + (f", {report.missing_cells:,} cells missing" if report.missing_cells else "")


def reference_rows(run: Run) -> list[dict[str, Any]]:
    """The three reference models (B.2) as rows of a table of risks."""
    given = run.record["topic"]["reference"]
    known = len(run.preferences.categories) if given is None else given
    rows = []
    for label, name in REFERENCES:
        risks = reference_risks(name, categories=known)  # type: ignore[arg-type]
        rows.append({"name": label, "muted": True, **risks._asdict()})
    return rows


def risk_rows(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """name, R, R_bias, R_volatility with their intervals, n_contexts, n_eff."""
    rows = []
    for name, run in zip(names, runs, strict=True):
        row: dict[str, Any] = {"name": name, "muted": False}
        for measure in ("R", "R_bias", "R_volatility"):
            estimate = getattr(run.report, measure)
            row[measure] = estimate.value
            row[f"{measure}_low"], row[f"{measure}_high"] = estimate.low, estimate.high
        rows.append({**row, "n_contexts": run.report.n_contexts, "n_eff": run.report.n_eff})
    return rows


def risks_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    table = pd.DataFrame([*risk_rows(runs, names), *reference_rows(runs[0])])
    normal = runs[0].report.normalized
    level = runs[0].report.R.level
    whisker = f" Whisker: {level:.0%} interval of R." if level else ""
    said = "; ".join(
        f"{brief(r['name'], 40)}: R {r['R']:.3f}, bias {r['R_bias']:.3f}, volatility "
        f"{r['R_volatility']:.3f}"
        for r in table.to_dict("records")
    )
    return Figure(
        key="risks",
        title="Risk and its two parts, beside the three reference models",
        caption=f"{_bases(runs, names)}.{whisker} The pale bars are the ends of the scale.",
        alt=f"Stacked bars of bias risk and volatility risk. {said}.",
        draw=lambda width: charts.stacked(table, width=width, limit=1.0 if normal else None),
        table=table.drop(columns=["muted"]),
    )


def intervals_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure | None:
    if all(run.report.R.low is None for run in runs):
        return None
    table = pd.DataFrame(risk_rows(runs, names))
    level = next(run.report.R.level for run in runs if run.report.R.level)
    wide = [
        f"{brief(r['name'], 40)} R {r['R']:.3f} from {r['R_low']:.3f} to {r['R_high']:.3f}"
        for r in table.to_dict("records")
        if r["R_low"] is not None and not pd.isna(r["R_low"])
    ]
    return Figure(
        key="intervals",
        title="How sure each number is",
        caption=(
            f"Points are the values, lines their {level:.0%} intervals over contexts. "
            f"{_bases(runs, names)}. An interval need not be centred on its value."
        ),
        alt="Values with intervals. " + "; ".join(wide) + ".",
        draw=lambda width: charts.intervals(table, width=width),
        table=table.drop(columns=["muted"]),
    )


def leaning_figure(readings: Sequence[Reading], names: Sequence[str]) -> Figure:
    frames = [r.leanings().assign(model=n) for r, n in zip(readings, names, strict=True)]
    table = pd.concat(frames, ignore_index=True)
    categories = readings[0].run.report.categories
    said = []
    for name, frame in zip(names, frames, strict=True):
        first = frame[frame["category"] == categories[0]]["s"].dropna()
        if len(first):
            said.append(f"{brief(name, 40)}: median {first.median():+.3f} towards {categories[0]}")
    two = len(categories) == 2
    return Figure(
        key="leaning",
        title="Which way the groups lean" if two else "Which category the groups lean to",
        caption=(
            f"One point a group: its mean over contexts. Box: the middle half of the groups; bar: "
            f"the median. {_bases([r.run for r in readings], names)}."
        ),
        alt="Box plot of the mean leaning of groups. " + "; ".join(said) + ".",
        draw=lambda width: charts.boxes(table, categories=categories, width=width),
    )


def groups_figure(run: Run, *, top: int = 15) -> Figure:
    rows = [r for r in run.report.groups_table() if r["r"] is not None]
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
            limit=1.0 if run.report.normalized else None,
        ),
    )


def heat_figure(reading: Reading) -> Figure:
    run = reading.run
    p = run.preferences
    down = np.argsort(-np.nan_to_num(run.report.mean_stereotype[:, 0], nan=-np.inf), kind="stable")
    across = np.argsort(-np.nan_to_num(reading.context_mean[:, 0], nan=-np.inf), kind="stable")
    strength = reading.strength[np.ix_(down, across)]
    if not run.report.normalized:
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
    category = category or run.report.categories[0]
    curves, means = [], []
    for name, group in [("all groups", None), *((g, g) for g in groups)]:
        try:
            values, weights = reading.sample(category, group)
        except SettingsError:  # a group without any observed cell
            continue
        means.append((name, float(weights @ values)))
        low, high = float(values.min()), float(values.max())
        pad = 0.4 * (high - low) + 1e-6
        if run.report.normalized:  # s cannot lie beyond its scale
            ends = max(low - pad, -1.0), min(high + pad, 1.0)
        else:
            ends = low - pad, high + pad
        at = np.linspace(*ends, 161)
        try:
            height = _density(values, weights, at)
        except SettingsError:  # values that do not differ have a mean and no width
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
            categories=run.report.categories,
            category=category,
            means=marks[marks["curve"].isin(table["curve"])],
            width=width,
        ),
    )


def shapes_figure(run: Run) -> Figure | None:
    report = run.report
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
            f"normal: p {_p(shape.shapiro.p)}"
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
    if reading.run.report.n_contexts < 4:
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
        title="How much of the probability the words hold",
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


def differences_figure(comparison: Comparison) -> Figure:
    table = pd.DataFrame(
        [
            {
                "pair": f"{d.a} minus {d.b}",
                "measure": d.measure,
                "value": d.value,
                "low": d.low,
                "high": d.high,
            }
            for d in comparison.overall
            if d.value is not None
        ]
    )
    said = "; ".join(
        f"{r['pair']}, {r['measure']}: {r['value']:+.3f}" for r in table.to_dict("records")
    )
    return Figure(
        key="differences",
        title="Differences between models, context by context",
        caption=(
            f"Right of zero: the first model has the higher risk. {comparison.level:.0%} "
            f"intervals; one that holds zero leaves the order open. n = {len(comparison.groups)} "
            f"groups × {comparison.n_contexts:,} contexts, n_eff = {comparison.n_eff:,.1f}."
        ),
        alt=f"Paired differences. {said}.",
        draw=lambda width: charts.differences(table, width=width),
    )


def plane_figure(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    table = pd.DataFrame(risk_rows(runs, names)).drop(columns=["muted"])
    said = "; ".join(
        f"{brief(r['name'], 40)}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in table.to_dict("records")
    )
    return Figure(
        key="plane",
        title="Steady lean against swing",
        caption=(
            "Along a dotted line the total risk R is the same. Thin lines: intervals. "
            f"{_bases(runs, names)}."
        ),
        alt=f"Models in the plane of bias and volatility. {said}.",
        draw=lambda width: charts.plane(table, width=width),
        table=table,
    )


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _bases(runs: Sequence[Run], names: Sequence[str]) -> str:
    """What the numbers rest on, once where it is the same for all."""
    found = {basis(run): name for run, name in zip(runs, names, strict=True)}
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{brief(n, 40)}: {basis(r)}" for r, n in zip(runs, names, strict=True))


def _density(values: Any, weights: Any, at: Any) -> Any:
    """Density of many values: those of a big run are first counted in 400 narrow bins."""
    if values.size > 4000:
        edges = np.linspace(values.min(), values.max(), 401)
        if edges[-1] > edges[0]:
            mass, _ = np.histogram(values, bins=edges, weights=weights)
            middle = (edges[1:] + edges[:-1]) / 2
            values, weights = middle[mass > 0], mass[mass > 0]
    return weighted_density(values, at, weights=weights)
