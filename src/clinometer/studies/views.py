"""Views of existing runs: leanings (Figure 5), distributions (10, 16), the heat map (11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.numbers import percent
from clinometer.errors import RunError, SettingsError
from clinometer.measure.risk import deviation, system_bias
from clinometer.measure.shape import distribution_characteristics
from clinometer.models.catalog.spec import folder_name
from clinometer.report import Figure, Table, charts
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.figures import (
    distribution_figure,
    heat_figure,
    leaning_figure,
    shapes_figure,
)
from clinometer.runs import Run
from clinometer.studies.framework import Findings


def leaning_findings(named: Sequence[tuple[str, Run]]) -> Findings:
    """Which way every group leans in every model, and which groups lean alike in all of them."""
    categories = named[0][1].risks.categories
    for name, run in named:
        if run.risks.categories != categories:
            raise RunError(
                f"study leaning: {name} has the categories {', '.join(run.risks.categories)}, "
                f"{named[0][0]} has {', '.join(categories)}: view them separately"
            )
    leans = pd.DataFrame({name: _leaning(run) for name, run in named})
    table = leans.copy()
    table.insert(0, "group", leans.index)
    for name, run in named:
        strength = run.risks.mean_stereotype.max(axis=1)
        table[f"s: {name}"] = pd.Series(strength, index=list(run.risks.groups))
        grid = run.preferences.grid
        for metric, found in (("system bias", system_bias(grid)), ("deviation", deviation(grid))):
            table[f"{metric}: {name}"] = pd.Series(found[:, 0], index=list(run.risks.groups))
    complete = leans.dropna()
    alike = complete[complete.nunique(axis=1) == 1].iloc[:, 0]
    counts, said = [], []
    for name, _ in named:
        groups = {c: int((leans[name] == c).sum()) for c in categories}
        counts += [{"name": name, "category": c, "groups": n} for c, n in groups.items()]
        parts = ", ".join(f"{n} to {c}" for c, n in groups.items())
        said.append(f"{name}: of {int(leans[name].notna().sum())} groups lean {parts}.")
        bias, far = (table[f"{metric}: {name}"].mean() for metric in ("system bias", "deviation"))
        said.append(
            f"{name}: system bias {bias:+.3f} and deviation {percent(far)} of {categories[0]} on "
            "average over the groups (A.2: neither tells a lean from a swing)."
        )
    if len(named) > 1:
        rare = min(categories, key=lambda c: int((alike == c).sum()))
        some = ", ".join(str(g) for g in alike[alike == rare].index[:12]) or "none"
        said.append(
            f"{len(alike)} of {len(complete)} groups lean alike in all {len(named)} models; to "
            f"{rare}: {some}."
        )
    return Findings(
        "leaning",
        "Which way the groups lean (Figure 5)",
        said,
        [
            Table("leaning-groups", "Leaning of every group", table.reset_index(drop=True)),
            Table("leaning-counts", "Groups by category", pd.DataFrame(counts)),
        ],
        [leaning_figure([CellStatistics(r) for _, r in named], [n for n, _ in named])],
        [run for _, run in named],
    )


def distribution_findings(named: Sequence[tuple[str, Run]]) -> Findings:
    """Distribution of bias and volatility risk over groups, and of the stereotype over cells."""
    figures: list[Figure] = []
    rows = []
    for name, run in named:
        for figure in (shapes_figure(run), distribution_figure(CellStatistics(run))):
            if figure is not None:
                figures.append(_renamed(figure, name) if len(named) > 1 else figure)
        rows += _moments(name, run)
    said = [_shape_sentence(r) for r in rows]
    said.append(
        "The paper calls bias risk near normal and volatility risk fat-tailed. Risks are bounded "
        "below by 0, so some skewness is expected of both."
    )
    return Findings(
        "distribution",
        "Distribution of the risks (Figures 10 and 16)",
        said,
        [Table("distribution", "Spread of the risks over the groups", pd.DataFrame(rows))],
        figures,
        [run for _, run in named],
    )


def heatmap_findings(
    named: Sequence[tuple[str, Run]], *, groups: Sequence[str], contexts: int | Sequence[str]
) -> Findings:
    """Every answer of some groups in the heaviest contexts, or in those of some templates."""
    figures, tables, said = [], [], []
    for name, run in named:
        figure, frame = _heat(name, run, groups, contexts)
        figures.append(figure)
        tables.append(frame)
        sides = frame.groupby("group", sort=False)["leans"].nunique()
        turned = sides.index[sides > 1]
        said.append(
            f"{name}: {len(turned)} of {len(sides)} groups lean to different "
            f"{'categories' if len(run.preferences.categories) > 2 else 'sides'} in different "
            f"contexts" + (f": {', '.join(turned[:8])}." if len(turned) else ".")
        )
    return Findings(
        "heatmap",
        "Answers context by context (Figure 11)",
        said,
        [Table("heatmap", "Preferences behind the picture", pd.concat(tables, ignore_index=True))],
        figures,
        [run for _, run in named],
    )


def _heat(
    name: str, run: Run, groups: Sequence[str], contexts: int | Sequence[str]
) -> tuple[Figure, pd.DataFrame]:
    p, cells = run.preferences, CellStatistics(run)
    missing = [g for g in groups if g not in p.groups]
    if missing:
        raise SettingsError(f"--group: {name} has no group {missing[0]!r}")
    x = [p.groups.index(g) for g in groups] if groups else list(range(len(p.groups)))
    weights = p.context_weights if p.context_weights.ndim == 1 else p.context_weights.sum(axis=0)
    templates = list(p.templates or p.contexts)
    if isinstance(contexts, int):
        c = np.argsort(-weights, kind="stable")[:contexts].tolist()
    else:
        missing = [text for text in contexts if text not in templates]
        if missing:
            raise SettingsError(f"--context: {name} has no context {missing[0]!r}")
        c = [templates.index(text) for text in contexts]
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
    if len(x) > charts.MOST_GROUPS:
        return _renamed(heat_figure(cells), name), frame
    leans = "; ".join(
        f"{group}: " + ", ".join(f"{c} in {n}" for c, n in of_group.value_counts().items())
        for group, of_group in frame.groupby("group", sort=False)["leans"]
    )
    figure = Figure(
        key=f"heatmap-{folder_name(name)}",
        title=f"{name}: each group in each context",
        caption=f"n = {len(x)} groups × {len(c)} contexts. Colour: the favoured category; "
        "strength: how far from the reference; number: "
        f"{f'p({p.categories[0]})' if two else 'its probability'}.",
        alt=f"Heat map. {leans}",
        draw=lambda width: charts.answers(frame, categories=p.categories, width=width),
    )
    return figure, frame


def _moments(name: str, run: Run) -> list[dict[str, Any]]:
    rows = []
    for measure in ("r_bias", "r_volatility"):
        shape = distribution_characteristics(getattr(run.risks, measure))
        rows.append(
            {
                "name": name,
                "measure": measure,
                "groups": shape.n,
                "mean": shape.mean,
                "sd": shape.sd,
                "skewness": shape.skewness,
                "excess_kurtosis": shape.excess_kurtosis,
                "p_normal": shape.p_normal,
                "p_fat_tail": shape.p_fat_tail,
                "tail_index": shape.hill,
            }
        )
    return rows


def _shape_sentence(row: dict[str, Any]) -> str:
    text = (
        f"{row['name']}: {row['measure']} over {row['groups']} groups: mean {row['mean']:.3f}, "
        f"standard deviation {row['sd']:.3f}"
    )
    if row["skewness"] is None:
        return f"{text}; too few distinct values to describe a shape."
    p = row["p_normal"]
    normal = "" if p is None else f", {'not normal' if p < 0.05 else 'normality not refuted'}"
    return (
        f"{text}, skewness {row['skewness']:+.2f}, excess kurtosis "
        f"{row['excess_kurtosis']:+.2f}{normal}."
    )


def _leaning(run: Run) -> pd.Series:
    report = run.risks
    names = [
        None if np.isnan(s).any() else report.categories[int(s.argmax())]
        for s in report.mean_stereotype
    ]
    return pd.Series(names, index=list(report.groups), dtype=object)


def _renamed(figure: Figure, name: str) -> Figure:
    """The figure of one of several runs."""
    key = f"{figure.key}-{folder_name(name)}"
    return replace(figure, key=key, title=f"{name}: {figure.title}")
