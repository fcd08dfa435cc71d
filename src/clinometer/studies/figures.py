"""Figures of existing runs: leanings (5, A.2), distributions (10, 16), single answers (11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.interpolate import make_interp_spline
from scipy.stats import norm

from clinometer.errors import RunError, SettingsError
from clinometer.measure import PreferenceGrid, Preferences, RiskReport
from clinometer.measure.risk import deviation, system_bias
from clinometer.report import Figure, Table
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.charts.answers import MOST_GROUPS, answers_chart
from clinometer.report.charts.axes import above, signed_axis
from clinometer.report.charts.look import (
    INK,
    MARK,
    PAGE,
    Spec,
    is_narrow,
    model_colours,
    several_views,
)
from clinometer.report.charts.marks import (
    ABOUT,
    distinct,
    layers,
    mark,
    nominal,
    quantitative,
)
from clinometer.report.figure import chart
from clinometer.report.figures.distribution import distribution_figure
from clinometer.report.figures.run_words import basis
from clinometer.runs import Run
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.shape import distribution_characteristics
from clinometer.storage.untrusted import folder_name
from clinometer.studies.framework import Findings


def figures_findings(
    named: Sequence[tuple[str, Run]],
    *,
    groups: Sequence[str] = (),
    contexts: int = 10,
) -> Findings:
    """Return which way the groups lean, how bias and volatility risk are spread over them, and the
    answers of `groups` (all) in the heaviest contexts."""
    measured = [Named(name, run.risks, run.preferences.grid) for name, run in named]
    leans = _leaning_tables(measured)
    figures = [leaning_figure(measured), *spread_figures(named)]
    answers: list[pd.DataFrame] = []
    moments: list[dict[str, Any]] = []
    for name, run in named:
        distribution = distribution_figure(CellStatistics(run))
        if distribution is not None and len(named) > 1:
            distribution = replace(
                distribution,
                key=f"{distribution.key}-{folder_name(name)}",
                title=f"{name}: {distribution.title}",
            )
        if distribution is not None:
            figures.append(distribution)
        moments += _moments(name, run)
        chosen = _chosen_groups(name, run, groups)
        heaviest = _heaviest_contexts(run, contexts)
        frame = _answers(name, run, chosen, heaviest)
        figures.append(_answers_figure(name, run, frame, len(chosen), len(heaviest)))
        answers.append(frame)
    spread = pd.DataFrame(moments).rename(columns={"n": "groups", "hill": "tail_index"})
    all_answers = pd.concat(answers, ignore_index=True)
    return Findings(
        "figures",
        [
            *leans,
            Table("distribution", "Spread of the risks over the groups", spread),
            Table("heatmap", "Answers context by context", all_answers),
        ],
        figures,
        [run for _, run in named],
    )


class Named(NamedTuple):
    """The risks of a model or of a table of preferences, under its name."""

    name: str
    risks: RiskReport
    grid: PreferenceGrid


def leaning_findings(tables: Sequence[tuple[str, Preferences]]) -> Findings:
    """Return the leanings of tables of preferences, whatever made them (A.2)."""
    named = [Named(name, p.decompose(), p.grid) for name, p in tables]
    return Findings("figures", _leaning_tables(named), [leaning_figure(named)])


def leaning_figure(named: Sequence[Named]) -> Figure:
    """Draw box plots of the average leaning of the groups (Figure 5).

    Above zero is towards the first category, which is male, as in the paper; of more than two
    categories there is a box for each.
    """
    first = named[0].risks
    categories = first.categories
    drawn = categories[:1] if len(categories) == 2 else categories
    rows = []
    for name, risks, _ in named:
        for group, s in zip(risks.groups, risks.mean_stereotype, strict=True):
            for category in drawn:
                value = s[categories.index(category)]
                row = {"model": name, "category": category, "group": group, "s": value}
                rows.append(row)
    table = pd.DataFrame(rows).dropna(subset=["s"])
    medians = table.groupby(["model", "category"], sort=False)["s"].median()
    directions = f"Above zero: towards {' or '.join(drawn)}"
    if len(drawn) == 1:
        directions += f"; below: towards {categories[1]}"
    return chart(
        "leaning",
        "Which way the groups lean",
        f"{directions}. Box: the middle half of the groups; bar: the median; whiskers: all that "
        "lie within 1.5 boxes; a point per group. "
        f"n = {len(first.groups)} groups × {first.n_contexts:,} contexts.",
        medians.reset_index(),
        "{model}: median {s:+.3f} towards {category}",
        lambda _, width: leaning_boxes(table, width=width),
    )


def leaning_boxes(table: pd.DataFrame, *, width: int) -> Spec:
    """Draw upright boxes of s over groups; table: model, category, group, s.

    Of one category all models are in one view; of several, each model has its own, with a box for
    each category.
    """
    models = list(dict.fromkeys(table["model"]))
    labels = dict(zip(models, distinct(models, 24), strict=True))
    categories = list(dict.fromkeys(table["category"]))
    views = []
    if len(categories) == 1:
        boxes = table.assign(box=table["model"].map(labels))
        title = f"↑ {categories[0]}"
        views.append(_boxes(boxes, y_title=title, width=width))
    else:
        for model in models:
            of_model = table[table["model"] == model]
            boxes = of_model.assign(box=of_model["category"])
            view = _boxes(boxes, y_title="↑ more often", width=width)
            views.append({**view, "title": labels[model]})
    sized = [{**view, "width": width - 70, "height": 260} for view in views]
    return several_views(sized, width)


def _boxes(table: pd.DataFrame, *, y_title: str, width: int) -> Spec:
    """Draw upright boxes; table: box, group, s."""
    table = table.assign(
        about=[
            f"{group}: {s:+.3f} ({box})"
            for group, s, box in zip(
                table["group"], table["s"], table["box"], strict=True
            )
        ]
    )
    names = list(dict.fromkeys(table["box"]))
    angle = -40 if len(names) > 4 or is_narrow(width) else 0
    x = nominal(
        "box", sort=names, title=None, axis={"labelAngle": angle, "grid": False}
    )
    y = quantitative(
        "s",
        title=y_title,
        axis={**signed_axis(), **above(grid=True)},
    )
    box_look = {
        "extent": 1.5,
        "size": 22,
        "outliers": False,
        "box": {"fill": PAGE, "stroke": INK, "strokeWidth": 1.2},
        "median": {"color": INK, "strokeWidth": 2.5},
        "rule": {"color": INK},
    }
    point_look = {"size": 16, "opacity": 0.4, "color": MARK, "xOffset": 20}
    return layers(
        mark("circle", look=point_look, x=x, y=y, description=ABOUT),
        mark("boxplot", look=box_look, x=x, y=y),
        data=table,
    )


POINTS = 300
"""Points of an interpolated line, as in the authors' notebook."""

BINS = 25
"""Bins of a histogram, as in the authors' notebook."""

MIN_GROUPS = 8
"""Groups that a line through a histogram needs."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Groups per bin at some values of a risk."""

    at: FloatArray
    groups: FloatArray


def counted_in_bins(values: FloatArray) -> Curve:
    """Return the middles of equal bins from the lowest to the highest value, and how many lie in
    each."""
    count, edges = np.histogram(values, bins=BINS)
    return Curve((edges[1:] + edges[:-1]) / 2, count.astype(float))


def interpolated(values: FloatArray) -> Curve:
    """Return the cubic spline through the counts of a histogram: what Figures 10 and 16 draw of the
    volatility risk.

    It passes through every count, and may dip below 0 between two of them.
    """
    bins = counted_in_bins(values)
    at = np.linspace(bins.at[0], bins.at[-1], POINTS)
    spline = make_interp_spline(bins.at, bins.groups)
    return Curve(at, np.asarray(spline(at)))


def fitted_normal(values: FloatArray) -> Curve:
    """Return the normal with the mean and spread of the values, as groups per bin of their
    histogram."""
    mean = float(values.mean())
    sd = float(values.std())
    low = min(values.min(), mean - 3 * sd)
    high = max(values.max(), mean + 3 * sd)
    at = np.linspace(low, high, POINTS)
    width_of_bin = np.ptp(values) / BINS
    return Curve(at, np.asarray(len(values) * width_of_bin * norm.pdf(at, mean, sd)))


class _Line(NamedTuple):
    """How a risk of a group is drawn."""

    title: str
    curve: Callable[[FloatArray], Curve]


_LINES = {
    "r_bias": _Line("bias risk rᵇ of a group", fitted_normal),
    "r_volatility": _Line("volatility risk rᵛ of a group", interpolated),
}


def spread_figures(named: Sequence[tuple[str, Run]]) -> list[Figure]:
    """Draw how the two risks are spread over the groups of each model (Figures 10, 16).

    A fitted normal for the bias risk, an interpolated line for the volatility risk.
    """
    parts: list[pd.DataFrame] = []
    for name, run in named:
        for measure in _LINES:
            values = np.asarray(getattr(run.risks, measure), dtype=float)
            finite = values[np.isfinite(values)]
            if len(finite) >= MIN_GROUPS and np.ptp(finite) >= 1e-12:
                parts += _spread_parts(name, measure, finite)
    if not parts:
        return []
    table = pd.concat(parts, ignore_index=True)
    means = pd.DataFrame(
        {
            "name": name,
            "bias": run.risks.R_bias.value,
            "volatility": run.risks.R_volatility.value,
        }
        for name, run in named
    )
    _, first = named[0]
    return [
        chart(
            "spread",
            "How the two risks are spread over the groups",
            f"Points: groups in each of {BINS} bins. Lines: of the bias risk the normal with the "
            "same mean and spread, of the volatility risk the spline through the points; it has "
            f"no meaning between them. {basis(first)}.",
            means,
            "{name}: mean bias risk {bias:.3f}, mean volatility risk {volatility:.3f}",
            lambda _, width: risk_lines(table, width=width),
        )
    ]


def _spread_parts(name: str, measure: str, values: FloatArray) -> list[pd.DataFrame]:
    """Return the line and the points of one risk of one model."""
    curves = {"line": _LINES[measure].curve(values), "points": counted_in_bins(values)}
    return [
        pd.DataFrame({"at": curve.at, "groups": curve.groups}).assign(
            measure=measure, name=name, look=look
        )
        for look, curve in curves.items()
    ]


def risk_lines(table: pd.DataFrame, *, width: int) -> Spec:
    """Draw a panel for each risk, a line and its points for each model.

    table: measure, name, look (line or points), at, groups.
    """
    narrow = is_narrow(width)
    names = list(dict.fromkeys(table["name"]))
    labels = dict(zip(names, distinct(names, 24), strict=True))
    legend = None
    if len(names) > 1:
        legend = {"columns": 2 if narrow else 4, "orient": "bottom"}
    scale = {"domain": list(labels.values()), "range": model_colours(len(names))}
    colour = nominal("label", legend=legend, scale=scale)
    table = table.assign(label=table["name"].map(labels))
    views = []
    for measure, line in _LINES.items():
        part = table[table["measure"] == measure]
        x_axis = {"tickCount": 4, "format": ".3~r"}
        channels: dict[str, Any] = {
            "x": quantitative("at", title=line.title, axis=x_axis),
            "y": quantitative("groups", title="groups", axis=above(tickCount=4)),
            "color": colour,
        }
        points = part[part["look"] == "points"]
        curve = part[part["look"] == "line"]
        point_look = {"size": 18, "opacity": 0.45}
        view = layers(
            mark("circle", points, look=point_look, **channels),
            mark("line", curve, look={"strokeWidth": 1.8}, **channels),
        )
        view_width = width - 60 if narrow else (width - 110) / 2
        views.append({**view, "width": view_width, "height": 200})
    return several_views(views, width, side_by_side=True, spacing=30)


def _leaning_tables(named: Sequence[Named]) -> list[Table]:
    """Return the leaning of every group in every model, and how many lean to each category."""
    categories = named[0].risks.categories
    for name, risks, _ in named:
        if risks.categories != categories:
            raise RunError(
                f"study figures: {name} has the categories {', '.join(risks.categories)}, "
                f"{named[0].name} has {', '.join(categories)}: view them separately"
            )
    leans = pd.DataFrame(
        {
            name: pd.Series(risks.leaning, list(risks.groups), object)
            for name, risks, _ in named
        }
    )
    table = leans.copy()
    table.insert(0, "group", leans.index)
    for name, risks, grid in named:
        columns = {
            "s": risks.mean_stereotype.max(axis=1),
            "system bias": system_bias(grid)[:, 0],
            "deviation": deviation(grid)[:, 0],
        }
        for metric, values in columns.items():
            table[f"{metric}: {name}"] = pd.Series(values, index=list(risks.groups))
    counts = _leaning_counts(leans, categories)
    return [
        Table("leaning-groups", "Leaning of every group", table.reset_index(drop=True)),
        Table("leaning-counts", "Groups by category", counts),
    ]


def _leaning_counts(leans: pd.DataFrame, categories: Sequence[str]) -> pd.DataFrame:
    """Return how many groups lean to each category in each model, and how many in all of them."""
    rows = []
    for name in leans.columns:
        for category in categories:
            groups = int((leans[name] == category).sum())
            rows.append({"name": name, "category": category, "groups": groups})
    if len(leans.columns) > 1:
        for category in categories:
            groups = int((leans == category).all(axis=1).sum())
            rows.append({"name": "all models", "category": category, "groups": groups})
    return pd.DataFrame(rows)


def _chosen_groups(name: str, run: Run, groups: Sequence[str]) -> list[int]:
    """Return the numbers of the named groups, or of all where none is named."""
    of_run = run.preferences.groups
    missing = [group for group in groups if group not in of_run]
    if missing:
        raise SettingsError(f"--group: {name} has no group {missing[0]!r}")
    if not groups:
        return list(range(len(of_run)))
    return [of_run.index(group) for group in groups]


def _heaviest_contexts(run: Run, n: int) -> list[int]:
    """Return the numbers of the n contexts of the largest weight, the heaviest first."""
    weights = run.preferences.context_weights
    if weights.ndim > 1:
        weights = weights.sum(axis=0)
    by_weight: list[int] = np.argsort(-weights, kind="stable").tolist()
    return by_weight[:n]


def _answers(
    name: str, run: Run, groups: Sequence[int], contexts: Sequence[int]
) -> pd.DataFrame:
    """Return a row for each answer of some groups in some contexts."""
    p = run.preferences
    cells = CellStatistics(run)
    templates = list(p.templates or p.contexts)
    rows = []
    for x in groups:
        for c in contexts:
            values = p.values[x, c]
            if np.isnan(values).any():
                continue
            favoured = int(cells.favoured[x, c])
            row = {
                "name": name,
                "group": p.groups[x],
                "template": templates[c],
                "leans": p.categories[favoured],
                "strength": cells.strength[x, c],
                "p": values[0 if len(p.categories) == 2 else favoured],
            }
            for y, category in enumerate(p.categories):
                row[f"p({category})"] = values[y]
            rows.append(row)
    return pd.DataFrame(rows)


def _answers_figure(
    name: str, run: Run, answers: pd.DataFrame, n_groups: int, n_contexts: int
) -> Figure:
    """Draw the answers of some groups in some contexts."""
    categories = run.preferences.categories
    drawn = f"{n_groups}"
    if n_groups > MOST_GROUPS:
        drawn = f"{MOST_GROUPS} of {n_groups}"
    number = f"p({categories[0]})" if len(categories) == 2 else "its probability"
    return chart(
        f"heatmap-{folder_name(name)}",
        f"{name}: each group in each context",
        f"n = {n_groups} groups × {n_contexts} contexts, {drawn} shown. Colour: the favoured "
        f"category; strength: how far from the reference; number: {number}.",
        answers,
        "{group}, {template}: {leans}",
        answers_chart,
        categories=categories,
    )


def _moments(name: str, run: Run) -> list[dict[str, Any]]:
    """Return the shape of the distribution of each risk over the groups."""
    rows = []
    for measure in _LINES:
        shape = distribution_characteristics(getattr(run.risks, measure))
        rows.append({"name": name, "measure": measure, **asdict(shape)})
    return rows
