"""Figures of existing runs: leanings (5), distributions (10, 16), single answers (11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from clinometer.errors import RunError, SettingsError
from clinometer.measure.risk import deviation, system_bias
from clinometer.measure.shape import distribution_characteristics
from clinometer.report import Figure, Table, charts
from clinometer.report.cell_statistics import CellStatistics
from clinometer.report.figures import (
    distribution_figure,
    heat_figure,
    leaning_figure,
    shapes_figure,
)
from clinometer.runs import Run
from clinometer.storage.untrusted import folder_name
from clinometer.studies.framework import Findings, chart


def figures_findings(
    named: Sequence[tuple[str, Run]],
    *,
    groups: Sequence[str] = (),
    contexts: int = 10,
) -> Findings:
    """Which way the groups lean, how bias and volatility risk are spread over them, and the answers
    of `groups` (all) in the heaviest contexts."""
    runs, names = [run for _, run in named], [name for name, _ in named]
    figures = [leaning_figure([CellStatistics(run) for run in runs], names)]
    answers, spread = [], []
    for name, run in named:
        for figure in (shapes_figure(run), distribution_figure(CellStatistics(run))):
            if figure is not None:
                figures.append(_renamed(figure, name) if len(named) > 1 else figure)
        spread += _moments(name, run)
        figure, frame = _heat(name, run, groups, contexts)
        figures.append(figure)
        answers.append(frame)
    return Findings(
        "figures",
        [
            *_leaning_tables(named),
            Table("distribution", "Spread of the risks over the groups", pd.DataFrame(spread)),
            Table("heatmap", "Answers context by context", pd.concat(answers, ignore_index=True)),
        ],
        figures,
        runs,
    )


def _leaning_tables(named: Sequence[tuple[str, Run]]) -> list[Table]:
    """The leaning of every group in every model; how many lean to each category, and how many lean
    to it in all of the models."""
    categories = named[0][1].risks.categories
    for name, run in named:
        if run.risks.categories != categories:
            raise RunError(
                f"study figures: {name} has the categories {', '.join(run.risks.categories)}, "
                f"{named[0][0]} has {', '.join(categories)}: view them separately"
            )
    leans = pd.DataFrame({name: _leaning(run) for name, run in named})
    table = leans.copy()
    table.insert(0, "group", leans.index)
    for name, run in named:
        strength = run.risks.mean_stereotype.max(axis=1)
        table[f"s: {name}"] = pd.Series(strength, index=list(run.risks.groups))
        grid = run.preferences.grid
        for metric, values in (("system bias", system_bias(grid)), ("deviation", deviation(grid))):
            table[f"{metric}: {name}"] = pd.Series(values[:, 0], index=list(run.risks.groups))
    counts = [
        {"name": name, "category": c, "groups": int((leans[name] == c).sum())}
        for name, _ in named
        for c in categories
    ]
    if len(named) > 1:
        alike = {c: int((leans == c).all(axis=1).sum()) for c in categories}
        counts += [{"name": "all models", "category": c, "groups": n} for c, n in alike.items()]
    return [
        Table("leaning-groups", "Leaning of every group", table.reset_index(drop=True)),
        Table("leaning-counts", "Groups by category", pd.DataFrame(counts)),
    ]


def _heat(name: str, run: Run, groups: Sequence[str], contexts: int) -> tuple[Figure, pd.DataFrame]:
    p, cells = run.preferences, CellStatistics(run)
    missing = [g for g in groups if g not in p.groups]
    if missing:
        raise SettingsError(f"--group: {name} has no group {missing[0]!r}")
    x = [p.groups.index(g) for g in groups] if groups else list(range(len(p.groups)))
    weights = p.context_weights if p.context_weights.ndim == 1 else p.context_weights.sum(axis=0)
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
    if len(x) > charts.MOST_GROUPS:
        return _renamed(heat_figure(cells), name), frame
    number = f"p({p.categories[0]})" if two else "its probability"
    return (
        chart(
            f"heatmap-{folder_name(name)}",
            f"{name}: each group in each context",
            f"n = {len(x)} groups × {len(c)} contexts. Colour: the favoured category; strength: "
            f"how far from the reference; number: {number}.",
            frame,
            "{group}, {template}: {leans}",
            charts.answers,
            categories=p.categories,
        ),
        frame,
    )


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
