"""Several models in the same contexts: beside the paper's tables, by size, and by source.

Tables 1 to 3 and 5 set the risks next to the printed ones and say why they differ; Figure 7 is
their trend with size; Table 4 asks whether rankings of models agree across contexts
from several sources. Trends and rankings rest on replicates in which all models have seen the same
contexts.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import linregress

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import SOURCES
from clinometer.errors import ContextError, RunError, SettingsError
from clinometer.measure.bracket import bracket
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.risks import MEASURES, RISKS
from clinometer.models.catalog.suites import suite
from clinometer.report import Figure, Table
from clinometer.report.charts.risks import risks_chart
from clinometer.report.charts.trend import trend_chart
from clinometer.report.figure import chart
from clinometer.report.figures.models import reference_rows, risk_rows
from clinometer.report.figures.run_words import basis
from clinometer.runs import Run
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.estimate import with_ends
from clinometer.statistics.intervals.percentile import percentile_estimate
from clinometer.statistics.intervals.reach import student_reach
from clinometer.studies.framework import (
    Findings,
    Results,
    about,
    data,
    only,
    risks,
    risks_table,
    verdict,
)
from clinometer.topics import Topic

LEVEL = 0.95
"""Of the intervals of trends and rankings."""

_TREND = {"higher": "rises", "lower": "falls", "neither": "no clear trend"}
"""What a sentence says of a slope."""


class PrintedTable(NamedTuple):
    """A table of the paper: what it asks, and R, R^b and R^v of its models, in its order."""

    topic: str
    contexts: str
    models: dict[str, list[float]]

    study: str = ""
    """The study that has ours beside it, if there is one."""

    title: str = ""

    references: bool = False
    """Whether the reference models are in it."""

    @property
    def odd(self) -> list[str]:
        """Return the models whose R is not R^b + R^v within the rounding of four digits."""
        return [
            model
            for model, (R, bias, swing) in self.models.items()
            if abs(R - bias - swing) > 1.51e-4
        ]


def printed() -> dict[str, PrintedTable]:
    """Return the printed tables.

    >>> list(printed())[:2], printed()["table1"].models["T5"]
    (['table1', 'table2'], [0.8703, 0.8691, 0.0012])
    """
    return {key: PrintedTable(**table) for key, table in data("published").items()}


def printed_beside(study: str) -> dict[str, PrintedTable]:
    """Return the printed tables that a study is compared with."""
    return {key: table for key, table in printed().items() if table.study == study}


def table_findings(results: Results, *, study: str) -> Findings:
    """Return ours beside the printed figures, in the layout of the printed table, and why they
    differ."""
    tables: list[Table] = []
    figures: list[Figure] = []
    for key, table in printed_beside(study).items():
        named = only(results, key)
        if named:
            rows = _beside(table, named)
            _, first = named[0]
            tables.append(_printed_table(key, table, rows))
            figures.append(_printed_figure(key, table.title, rows, basis(first)))
    runs = [run for _, run in results]
    return Findings(study, tables, figures, runs, about("tables").notes)


def _printed_table(key: str, table: PrintedTable, rows: pd.DataFrame) -> Table:
    columns = [*MEASURES, *_PRINTED_COLUMNS]
    ranks = [f"{column}_rank" for column in columns]
    hidden = ["n_contexts", "n_eff", *ranks]
    for measure in MEASURES[1:]:
        hidden += [f"{measure}_low", f"{measure}_high"]
    note = (
        "Worst: bold; best: underlined italic. Under R its interval; the csv file has those of Rᵇ "
        "and Rᵛ."
    )
    if table.odd:
        note += (
            f" As printed, R is not the sum of its parts for {', '.join(table.odd)}."
        )
    return Table(
        key,
        f"{table.title}, measured here and as printed",
        rows.drop(columns=["pale"]),
        note,
        hidden=tuple(hidden),
        as_printed=tuple(columns),
    )


_PRINTED_COLUMNS = tuple(f"printed_{measure}" for measure in MEASURES)
"""The columns of the printed risks."""


def _beside(printed: PrintedTable, named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """Return the reference models, then the rows of the printed table in its order, then further
    models; a model of the table goes by its name there or by its id."""
    theirs = _printed_risks(printed)
    names_of_ids = {entry.id: entry.name for entry in suite(about(printed.study).suite)}
    ours = risks([(names_of_ids.get(label, label), run) for label, run in named])
    both = theirs.merge(ours, on="name", how="left")
    others = ours[~ours["name"].isin(theirs["name"])].iloc[::-1]
    _, first = named[0]
    references = pd.DataFrame(reference_rows(first)).assign(pale=True)
    if printed.references:
        as_printed = [[0.0, 0, 0], [1, 1, 0], [1, 0, 1]]
        references = references.join(
            pd.DataFrame(as_printed, columns=list(_PRINTED_COLUMNS))
        )
    order = [*ours, *theirs.columns[1:], "pale"]
    rows = pd.concat([references, both, others], ignore_index=True)[order]
    return rows.assign(pale=rows["pale"].eq(True))


def _printed_risks(printed: PrintedTable) -> pd.DataFrame:
    """Return a row for each model of a printed table: its name, and each risk with its rank."""
    models = pd.DataFrame.from_dict(
        printed.models, orient="index", columns=list(MEASURES)
    )
    columns: dict[str, Any] = {"name": models.index}
    for measure in MEASURES:
        risk = models[measure]
        columns[f"printed_{measure}"] = risk.to_numpy()
        columns[f"printed_{measure}_rank"] = risk.rank(method="min").to_numpy()
    return pd.DataFrame(columns)


def _printed_figure(
    key: str, title: str, rows: pd.DataFrame, basis_of_runs: str
) -> Figure:
    names_of_columns = dict(zip(_PRINTED_COLUMNS, MEASURES, strict=True))
    theirs = rows[["name", *_PRINTED_COLUMNS]].dropna().rename(columns=names_of_columns)
    theirs = theirs.assign(name=theirs["name"] + " (published)", pale=True)
    theirs = theirs.sort_values("R", kind="stable")
    ours = rows.dropna(subset=["R"]).sort_values(["pale", "R"], kind="stable")
    return chart(
        key,
        f"{title}, measured here and as published (pale)",
        f"{basis_of_runs}. Bands: intervals over contexts. Published figures carry the released "
        "code's single-token words and padding; see the notes.",
        pd.concat([ours, theirs], ignore_index=True),
        "{name} R {R:.3f}",
        risks_chart,
    )


@dataclass(frozen=True, eq=False)
class Joint:
    """R, R^b, R^v of M models, and B replicates of them."""

    values: FloatArray
    """[M,3]."""

    draws: FloatArray
    """[B,M,3], normal errors around the values; in one replicate all models have seen the same
    contexts."""

    n_eff: float
    """The effective number of contexts."""

    def interval(self, value: float, draws: FloatArray) -> tuple[float, float]:
        """Return a symmetric interval for a number computed from `values`; replicates in draws
        [B]."""
        degrees = max(self.n_eff - 1.0, 1.0)
        reach = float(student_reach(np.std(draws), degrees, level=LEVEL))
        return value - reach, value + reach


def joint_replicates(
    grids: Sequence[PreferenceGrid], *, replicates: int = 2000, seed: int = 0
) -> Joint:
    """Return replicates of the risks of M models over the same groups and contexts, with one mask.

    What each context contributes to a risk (`Bracket.contributions`) is multiplied by a normal
    number of its own, the same for all models. Equal models get equal replicates.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta(5, 5, (4, 30))
    >>> two = [read_preferences(np.stack([p, 1 - p], -1))] * 2
    >>> replicates = joint_replicates(two, replicates=100)
    >>> draws = replicates.draws
    >>> draws.shape, bool((draws[:, 0] == draws[:, 1]).all())
    ((100, 2, 3), True)
    """
    brackets = [bracket(Evidence.of(grid)) for grid in grids]
    values = np.stack([risks.value[:, -1] for risks in brackets])
    contributions = np.stack([risks.contributions[..., -1] for risks in brackets])
    weights = brackets[0].weights[:, -1]
    sum_w2 = float(weights @ weights)
    deviations = contributions - (contributions @ weights)[..., None]
    errors = deviations * weights / np.sqrt(max(1 - sum_w2, ROUNDING))
    normal = np.random.default_rng(seed).standard_normal((replicates, len(weights)))
    draws = values + np.einsum("bu,mtu->bmt", normal, errors)
    return Joint(values, draws, n_eff=1.0 / sum_w2)


def joint(runs: Sequence[Run], *, seed: int = 0) -> Joint:
    """Return the risks of runs with the same cells, under common resampling of the contexts."""
    first = runs[0].preferences
    for run in runs[1:]:
        p = run.preferences
        if p.groups != first.groups or p.contexts != first.contexts:
            raise RunError(
                f"study: {run.model} was scored on other groups or contexts than "
                f"{runs[0].model}; use another --out"
            )
    mask = np.logical_and.reduce([run.preferences.observed for run in runs])
    grids = [
        replace(first.grid, values=run.preferences.values, mask=mask) for run in runs
    ]
    return joint_replicates(grids, seed=seed)


def kendall(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Return Kendall's tau of values [..,M] and [..,M]: pairs in the same order minus pairs in
    opposite order, over all pairs.

    1: the same ranking; -1: the opposite one; about 0: none of the one in the other. A pair that
    ties in either counts for neither (tau-a).

    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).round(3).item()
    0.667
    """
    x = np.asarray(a, dtype=np.float64)
    y = np.asarray(b, dtype=np.float64)
    i, j = np.triu_indices(x.shape[-1], k=1)
    x_differences = x[..., i] - x[..., j]
    y_differences = y[..., i] - y[..., j]
    is_tied = (np.abs(x_differences) <= ROUNDING) | (np.abs(y_differences) <= ROUNDING)
    signs = np.where(is_tied, 0.0, np.sign(x_differences * y_differences))
    return np.asarray(signs.mean(axis=-1))


def size_findings(results: Results, *, seed: int = 0) -> Findings:
    """Return slopes of R, R^b and R^v per tenfold size, with two intervals that mean different
    things."""
    named = [(planned.label, run) for planned, run in results]
    models = _by_size(named)
    rows = []
    for model in models:
        for measure in MEASURES:
            risk = model.run.risks.summary[measure]
            row = {
                "name": model.label,
                "x": model.parameters,
                "measure": measure,
                "value": risk.value,
                "low": risk.low,
                "high": risk.high,
            }
            rows.append(row)
    slopes = _slopes(models, seed=seed)
    _, first = named[0]
    figure = chart(
        "size",
        "Risk and model size",
        f"{basis(first)}. A line joins the sizes; bars: intervals over contexts.",
        pd.DataFrame(rows),
        "{name} {measure} {value:.3f}",
        trend_chart,
        x_title="parameters",
    )
    title = "Change of the risk with ten times the parameters"
    return Findings(
        "size",
        [
            Table("size-slopes", title, pd.DataFrame(slopes)),
            risks_table("size-risks", "Risks by size", named),
        ],
        [figure],
        [run for _, run in named],
        [_slope_sentence(row) for row in slopes],
    )


def _slope_sentence(row: dict[str, Any]) -> str:
    measure = RISKS[row["measure"]].in_sentences
    trend = verdict(row, **_TREND)
    return f"{measure}, ten times the parameters, over contexts: {trend}"


def over_models(
    x: FloatArray, y: FloatArray
) -> tuple[float, float] | tuple[None, None]:
    """Return the usual interval of a slope, from the scatter of the models around the line."""
    freedom = len(x) - 2
    if freedom < 1:
        return None, None
    line = linregress(x, y)
    reach = float(student_reach(line.stderr, freedom, level=LEVEL))
    return float(line.slope - reach), float(line.slope + reach)


class SizedModel(NamedTuple):
    """A model with its number of parameters."""

    label: str
    run: Run
    parameters: int


def _by_size(named: Sequence[tuple[str, Run]]) -> list[SizedModel]:
    """Return models from the smallest to the largest."""
    models = []
    for label, run in named:
        parameters = run.record.model.parameters
        if not parameters:
            raise RunError(
                f"study size: expected models with a number of parameters, found none of {label}; "
                "leave it out"
            )
        models.append(SizedModel(label, run, parameters))
    if len({model.parameters for model in models}) < 2:
        raise RunError("study size: expected at least two different sizes")
    return sorted(models, key=lambda model: model.parameters)


def _slopes(models: Sequence[SizedModel], *, seed: int) -> list[dict[str, Any]]:
    """Return the slope of each risk on the logarithm of the size, as rows of a table."""
    x = np.log10([model.parameters for model in models])
    replicates = joint([model.run for model in models], seed=seed)
    rows = []
    for i, measure in enumerate(MEASURES):
        slope = float(np.polyfit(x, replicates.values[:, i], 1)[0])
        slopes_of_draws = np.polyfit(x, replicates.draws[:, :, i].T, 1)[0]
        low, high = replicates.interval(slope, slopes_of_draws)
        over_models_low, over_models_high = over_models(x, replicates.values[:, i])
        row = {
            "measure": measure,
            "value": slope,
            "low": low,
            "high": high,
            "over_models_low": over_models_low,
            "over_models_high": over_models_high,
            "models": len(models),
            "n_eff": replicates.n_eff,
        }
        rows.append(row)
    return rows


def source_sets(
    topic: Topic, given: Sequence[tuple[str, str]]
) -> list[tuple[str, ContextSet]]:
    """Return the given sets by their names, or the built-in ones of the topic."""
    if given:
        return [(name, load_contexts(where, topic=topic)) for name, where in given]
    builtin = builtin_contexts()
    sets = []
    for source in SOURCES:
        name = f"{source}-{topic.name}"
        if name in builtin:
            sets.append((source, load_contexts(name)))
    if len(sets) < 2:
        raise ContextError(
            f"study sources: topic {topic.name!r} has fewer than two built-in sets of sources; "
            "name them: --source book=book.csv --source web=web.csv"
        )
    return sets


def sources_findings(results: Results, *, seed: int = 0) -> Findings:
    """Return risks by source, and Kendall's tau of each pair of sources with an interval over
    contexts."""
    by_source = _ranked_models(results)
    replicates = {
        source: joint([run for _, run in named], seed=seed + i)
        for i, (source, named) in enumerate(by_source.items())
    }
    risk_tables = [
        risks_table(f"sources-{source}", f"Contexts from {source}", named)
        for source, named in by_source.items()
    ]
    return Findings(
        "sources",
        [
            Table(
                "sources-agreement", "Agreement of the rankings", agreement(replicates)
            ),
            Table(
                "sources-published", "The same of the published figures", _published()
            ),
            *risk_tables,
        ],
        [_sources_figure(by_source)],
        [run for _, run in results],
    )


def _ranked_models(results: Results) -> dict[str, list[tuple[str, Run]]]:
    """Return by source the models that were scored in every source: others cannot be ranked."""
    by_source = {planned.role: only(results, planned.role) for planned, _ in results}
    labels = [{label for label, _ in named} for named in by_source.values()]
    in_all = set.intersection(*labels)
    if len(in_all) < 2 or len(by_source) < 2:
        raise SettingsError(
            "study sources: expected two models that were scored in two sources"
        )
    return {
        source: [(label, run) for label, run in named if label in in_all]
        for source, named in by_source.items()
    }


def _sources_figure(by_source: Mapping[str, Sequence[tuple[str, Run]]]) -> Figure:
    """Return the risks of each model in each source, model by model."""
    members = [
        (label, source, run)
        for source, named in by_source.items()
        for label, run in named
    ]
    members.sort(key=lambda member: member[0])
    names = [f"{label}, {source}" for label, source, _ in members]
    return chart(
        "sources",
        "One model, several sources of contexts",
        "Risks of each model in the contexts of each source, with intervals over contexts.",
        pd.DataFrame(risk_rows([run for *_, run in members], names)),
        "{name} R {R:.3f}",
        risks_chart,
    )


def agreement(risks: dict[str, Joint]) -> pd.DataFrame:
    """Return Kendall's tau of each pair of sources and measure.

    Its interval is of replicates that are independent between sources. Of four models tau has seven
    values only, and so have its ends.
    """
    rows = []
    for (a, first), (b, second) in itertools.combinations(risks.items(), 2):
        for m, measure in enumerate(MEASURES):
            value = float(kendall(first.values[:, m], second.values[:, m]))
            draws = kendall(first.draws[:, :, m], second.draws[:, :, m])
            tau = percentile_estimate(
                value, draws, level=LEVEL, method="contexts", contain=True
            )
            row = {"pair": f"{a}, {b}", "measure": measure, **with_ends("tau", tau)}
            rows.append(row)
    return pd.DataFrame(rows)


def _published() -> pd.DataFrame:
    """Return Kendall's tau of the printed R: the paper calls the rankings consistent."""
    by_source: dict[str, dict[str, float]] = {}
    for table in printed().values():
        if table.topic == "gender":
            by_source[table.contexts] = {
                model: values[0] for model, values in table.models.items()
            }
    models = list(by_source["book"])
    rows = []
    for a, b in itertools.combinations(by_source, 2):
        first = [by_source[a][model] for model in models]
        second = [by_source[b][model] for model in models]
        rows.append({"pair": f"{a}, {b}", "tau": float(kendall(first, second))})
    return pd.DataFrame(rows)
