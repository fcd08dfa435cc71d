"""Figures of existing runs: leanings (5, A.2), distributions (10, 16), single answers (11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.interpolate import make_interp_spline
from scipy.stats import norm

from clinometer.errors import RunError, SettingsError
from clinometer.measure import PreferenceGrid, Preferences, RiskReport
from clinometer.measure.risk import deviation, system_bias
from clinometer.report import Figure, Table, charts
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.figure import chart
from clinometer.report.figures import basis, distribution_figure
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
    """Which way the groups lean, how bias and volatility risk are spread over them, and the answers
    of `groups` (all) in the heaviest contexts."""
    measured = [Named(name, run.risks, run.preferences.grid) for name, run in named]
    leans = _leaning_tables(measured)
    figures = [leaning_figure(measured), *spread_figures(named)]
    answers, moments = [], []
    for name, run in named:
        figure = distribution_figure(CellStatistics(run))
        if figure is not None and len(named) > 1:
            key, title = f"{figure.key}-{folder_name(name)}", f"{name}: {figure.title}"
            figure = replace(figure, key=key, title=title)
        figures += [] if figure is None else [figure]
        moments += _moments(name, run)
        figure, frame = _heat(name, run, groups, contexts)
        figures.append(figure)
        answers.append(frame)
    spread = pd.DataFrame(moments).rename(columns={"n": "groups", "hill": "tail_index"})
    return Findings(
        "figures",
        [
            *leans,
            Table("distribution", "Spread of the risks over the groups", spread),
            Table(
                "heatmap",
                "Answers context by context",
                pd.concat(answers, ignore_index=True),
            ),
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
    """The leanings of tables of preferences, whatever made them (A.2)."""
    named = [Named(name, p.decompose(), p.grid) for name, p in tables]
    return Findings("figures", _leaning_tables(named), [leaning_figure(named)])


def leaning_figure(named: Sequence[Named]) -> Figure:
    """Box plot of the average leaning of the groups (Figure 5): above zero towards the first
    category, which is male, as in the paper; of more than two categories a box for each."""
    categories = named[0].risks.categories
    shown = categories[:1] if len(categories) == 2 else categories
    table = pd.DataFrame(
        [
            {"model": name, "category": c, "group": group, "s": s[categories.index(c)]}
            for name, risks, _ in named
            for group, s in zip(risks.groups, risks.mean_stereotype, strict=True)
            for c in shown
        ]
    ).dropna(subset=["s"])
    medians = table.groupby(["model", "category"], sort=False)["s"].median()
    return chart(
        "leaning",
        "Which way the groups lean",
        f"Above zero: towards {' or '.join(shown)}"
        f"{f'; below: towards {categories[1]}' if len(shown) == 1 else ''}. Box: the middle half "
        "of the groups; bar: the median; whiskers: all that lie within 1.5 boxes; a point per "
        f"group. n = {len(named[0].risks.groups)} groups × {named[0].risks.n_contexts:,} contexts.",
        medians.reset_index(),
        "{model}: median {s:+.3f} towards {category}",
        lambda _, width: leaning_boxes(table, width=width),
    )


def leaning_boxes(table: pd.DataFrame, *, width: int) -> charts.Spec:
    """Upright boxes of s over groups; table: model, category, group, s."""
    models = list(dict.fromkeys(table["model"]))
    labels = dict(zip(models, charts.distinct(models, 24), strict=True))
    categories = list(dict.fromkeys(table["category"]))
    views = []
    for name in models if len(categories) > 1 else [None]:
        part = table if name is None else table[table["model"] == name]
        part = part.assign(
            box=part["model"].map(labels) if name is None else part["category"]
        )
        part["about"] = [
            f"{g}: {s:+.3f} ({b})"
            for g, s, b in zip(part["group"], part["s"], part["box"], strict=True)
        ]
        boxes = list(dict.fromkeys(part["box"]))
        angle = -40 if len(boxes) > 4 or charts.is_narrow(width) else 0
        x = charts.n(
            "box", sort=boxes, title=None, axis={"labelAngle": angle, "grid": False}
        )
        title = f"↑ {categories[0]}" if name is None else "↑ more often"
        y = {
            "title": title,
            "axis": {**charts.signed_axis(), **charts.above(grid=True)},
        }
        box = {
            "extent": 1.5,
            "size": 22,
            "outliers": False,
            "box": {"fill": charts.PAGE, "stroke": charts.INK, "strokeWidth": 1.2},
            "median": {"color": charts.INK, "strokeWidth": 2.5},
            "rule": {"color": charts.INK},
        }
        point = {"size": 16, "opacity": 0.4, "color": charts.MARK, "xOffset": 20}
        chart = charts.layers(
            charts.marks(
                "circle",
                look=point,
                x=x,
                y=charts.q("s", **y),
                description=charts.ABOUT,
            ),
            charts.marks("boxplot", look=box, x=x, y=charts.q("s", **y)),
            data=part,
        )
        titled = {} if name is None else {"title": labels[name]}
        views.append({**chart, **titled, "width": width - 70, "height": 260})
    return charts.several_views(views, width)


#: Points of an interpolated line, and bins of its histogram, as in the authors' notebook.
POINTS, BINS = 300, 25


def counted_in_bins(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The middles of equal bins from the lowest to the highest value, and how many lie in each."""
    count, edges = np.histogram(values, bins=BINS)
    return (edges[1:] + edges[:-1]) / 2, count.astype(float)


def interpolated(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The cubic spline through the counts of a histogram: what Figures 10 and 16 draw of the
    volatility risk. It passes through every count, and may dip below 0 between two of them."""
    middles, count = counted_in_bins(values)
    at = np.linspace(middles[0], middles[-1], POINTS)
    return at, np.asarray(make_interp_spline(middles, count)(at))


def fitted_normal(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The normal with the mean and spread of the values, as groups per bin of their histogram."""
    mean, sd = float(values.mean()), float(values.std())
    at = np.linspace(
        min(values.min(), mean - 3 * sd), max(values.max(), mean + 3 * sd), POINTS
    )
    return at, np.asarray(len(values) * np.ptp(values) / BINS * norm.pdf(at, mean, sd))


_LINES = {
    "r_bias": ("bias risk rᵇ of a group", fitted_normal),
    "r_volatility": ("volatility risk rᵛ of a group", interpolated),
}


def spread_figures(named: Sequence[tuple[str, Run]]) -> list[Figure]:
    """How the two risks are spread over the groups of each model (Figures 10, 16): a fitted normal
    for the bias risk, an interpolated line for the volatility risk."""
    parts = []
    for name, run in named:
        for measure, (_, line) in _LINES.items():
            values = np.asarray(getattr(run.risks, measure), dtype=float)
            values = values[np.isfinite(values)]
            if len(values) < 8 or np.ptp(values) < 1e-12:
                continue
            for look, (at, count) in (
                ("line", line(values)),
                ("points", counted_in_bins(values)),
            ):
                part = pd.DataFrame({"at": at, "groups": count})
                parts.append(part.assign(measure=measure, name=name, look=look))
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
    return [
        chart(
            "spread",
            "How the two risks are spread over the groups",
            f"Points: groups in each of {BINS} bins. Lines: of the bias risk the normal with the "
            "same mean and spread, of the volatility risk the spline through the points; it has "
            f"no meaning between them. {basis(named[0][1])}.",
            means,
            "{name}: mean bias risk {bias:.3f}, mean volatility risk {volatility:.3f}",
            lambda _, width: risk_lines(table, width=width),
        )
    ]


def risk_lines(table: pd.DataFrame, *, width: int) -> charts.Spec:
    """A panel for each risk, a line and its points for each model; table: measure, name, look (line
    or points), at, groups."""
    narrow = charts.is_narrow(width)
    names = list(dict.fromkeys(table["name"]))
    labels = dict(zip(names, charts.distinct(names, 24), strict=True))
    legend = (
        {"columns": 2 if narrow else 4, "orient": "bottom"} if len(names) > 1 else None
    )
    scale = {"domain": list(labels.values()), "range": charts.model_colours(len(names))}
    colour = charts.n("label", legend=legend, scale=scale)
    table = table.assign(label=table["name"].map(labels))
    views = []
    for measure, (title, _) in _LINES.items():
        line, seen = (
            table[(table["measure"] == measure) & (table["look"] == look)]
            for look in ("line", "points")
        )
        at = {
            "x": charts.q("at", title=title, axis={"tickCount": 4, "format": ".3~r"}),
            "y": charts.q("groups", title="groups", axis=charts.above(tickCount=4)),
            "color": colour,
        }
        chart = charts.layers(
            charts.marks("circle", seen, look={"size": 18, "opacity": 0.45}, **at),
            charts.marks("line", line, look={"strokeWidth": 1.8}, **at),
        )
        views.append(
            {
                **chart,
                "width": width - 60 if narrow else (width - 110) / 2,
                "height": 200,
            }
        )
    return charts.several_views(views, width, beside=True, spacing=30)


def _leaning_tables(named: Sequence[Named]) -> list[Table]:
    """The leaning of every group in every model; how many lean to each category, and how many lean
    to it in all of the models."""
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
    counts = [
        {"name": name, "category": c, "groups": int((leans[name] == c).sum())}
        for name, *_ in named
        for c in categories
    ]
    if len(named) > 1:
        alike = {c: int((leans == c).all(axis=1).sum()) for c in categories}
        counts += [
            {"name": "all models", "category": c, "groups": n} for c, n in alike.items()
        ]
    return [
        Table("leaning-groups", "Leaning of every group", table.reset_index(drop=True)),
        Table("leaning-counts", "Groups by category", pd.DataFrame(counts)),
    ]


def _heat(
    name: str, run: Run, groups: Sequence[str], contexts: int
) -> tuple[Figure, pd.DataFrame]:
    p, cells = run.preferences, CellStatistics(run)
    missing = [g for g in groups if g not in p.groups]
    if missing:
        raise SettingsError(f"--group: {name} has no group {missing[0]!r}")
    x = [p.groups.index(g) for g in groups] if groups else list(range(len(p.groups)))
    weights = (
        p.context_weights
        if p.context_weights.ndim == 1
        else p.context_weights.sum(axis=0)
    )
    templates = list(p.templates or p.contexts)
    c = np.argsort(-weights, kind="stable")[:contexts].tolist()
    two = len(p.categories) == 2
    rows = [
        {
            "name": name,
            "group": p.groups[i],
            "template": templates[j],
            "leans": p.categories[int(cells.favoured[i, j])],
            "strength": cells.strength[i, j],
            "p": p.values[i, j, 0 if two else cells.favoured[i, j]],
            **{f"p({k})": p.values[i, j, n] for n, k in enumerate(p.categories)},
        }
        for i in x
        for j in c
        if not np.isnan(p.values[i, j]).any()
    ]
    frame = pd.DataFrame(rows)
    shown = charts.MOST_GROUPS
    some = f"{shown} of {len(x)}" if len(x) > shown else f"{len(x)}"
    number = f"p({p.categories[0]})" if two else "its probability"
    return (
        chart(
            f"heatmap-{folder_name(name)}",
            f"{name}: each group in each context",
            f"n = {len(x)} groups × {len(c)} contexts, {some} shown. Colour: the favoured "
            f"category; strength: how far from the reference; number: {number}.",
            frame,
            "{group}, {template}: {leans}",
            charts.answers,
            categories=p.categories,
        ),
        frame,
    )


def _moments(name: str, run: Run) -> list[dict[str, Any]]:
    shapes = {m: distribution_characteristics(getattr(run.risks, m)) for m in _LINES}
    return [
        {"name": name, "measure": m, **asdict(shape)} for m, shape in shapes.items()
    ]
