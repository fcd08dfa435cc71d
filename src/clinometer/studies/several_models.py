"""Several models in the same contexts: beside the paper's tables, by size, and by source.

Tables 1 to 3 and 5 set the risks next to the printed ones and say why they differ; Figure 7 is
their trend with size; Table 4 asks whether rankings of models agree across contexts
from several sources. Trends and rankings rest on replicates in which all models have seen the same
contexts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import linregress

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import SOURCES
from clinometer.errors import ContextError, RunError, SettingsError
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid
from clinometer.measure.inference import bracket
from clinometer.measure.risks import MEASURES, RISKS
from clinometer.models.catalog.suites import suite
from clinometer.report import Figure, Table, charts
from clinometer.report.figure import chart
from clinometer.report.figures import basis, reference_rows, risk_rows
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

#: Of the intervals of trends and rankings.
_LEVEL = 0.95


class PrintedTable(NamedTuple):
    """A table of the paper: what it asks, and R, R^b and R^v of its models, in its order.

    study       the study that has ours beside it, if there is one
    references  whether the reference models are in it
    """

    topic: str
    contexts: str
    models: dict[str, list[float]]
    study: str = ""
    title: str = ""
    references: bool = False

    @property
    def odd(self) -> list[str]:
        """Models whose R is not R^b + R^v within the rounding of four digits."""
        return [
            m
            for m, (R, bias, swing) in self.models.items()
            if abs(R - bias - swing) > 1.51e-4
        ]


def printed() -> dict[str, PrintedTable]:
    """The printed tables.

    >>> list(printed())[:2], printed()["table1"].models["T5"]
    (['table1', 'table2'], [0.8703, 0.8691, 0.0012])
    """
    return {key: PrintedTable(**table) for key, table in data("published").items()}


def printed_beside(study: str) -> dict[str, PrintedTable]:
    """The printed tables that a study is compared with."""
    return {key: table for key, table in printed().items() if table.study == study}


def table_findings(results: Results, *, study: str) -> Findings:
    """Ours beside the printed figures, in the layout of the printed table, and why they differ."""
    tables: list[Table] = []
    figures: list[Figure] = []
    columns = [*MEASURES, *(f"printed_{m}" for m in MEASURES)]
    ends = [f"{m}_{end}" for m in MEASURES[1:] for end in ("low", "high")]
    for key, table in printed_beside(study).items():
        named = only(results, key)
        if not named:
            continue
        both = _beside(table, named)
        odd = ", ".join(table.odd)
        note = f" As printed, R is not the sum of its parts for {odd}." if odd else ""
        tables.append(
            Table(
                key,
                f"{table.title}, measured here and as printed",
                both.drop(columns=["pale"]),
                f"Worst: bold; best: underlined italic. Under R its interval; the csv file has "
                f"those of Rᵇ and Rᵛ.{note}",
                hidden=("n_contexts", "n_eff", *ends, *(f"{c}_rank" for c in columns)),
                as_printed=tuple(columns),
            )
        )
        figures.append(_figure(key, table.title, both, basis(named[0][1])))
    return Findings(
        study, tables, figures, [run for _, run in results], about("tables").notes
    )


def _beside(printed: PrintedTable, named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """The reference models, then the rows of the printed table in its order, then further models;
    a model of the table goes by its name there or by its id."""
    theirs = pd.DataFrame.from_dict(
        printed.models, orient="index", columns=list(MEASURES)
    )
    theirs = theirs.rename_axis("name").reset_index()
    for measure in MEASURES:
        theirs[f"{measure}_rank"] = theirs[measure].rank(method="min")
    numbers = [c for m in MEASURES for c in (m, f"{m}_rank")]
    theirs = theirs[["name", *numbers]].rename(
        columns={c: f"printed_{c}" for c in numbers}
    )
    ids = {entry.id: entry.name for entry in suite(about(printed.study).suite)}
    ours = risks([(ids.get(name, name), run) for name, run in named])
    both = theirs.merge(ours, on="name", how="left")
    others = ours[~ours["name"].isin(theirs["name"])].iloc[::-1]
    references = pd.DataFrame(reference_rows(named[0][1])).assign(pale=True)
    if printed.references:
        columns = [f"printed_{m}" for m in MEASURES]
        as_printed = pd.DataFrame([[0.0, 0, 0], [1, 1, 0], [1, 0, 1]], columns=columns)
        references = references.join(as_printed)
    order = [*ours, *theirs.columns[1:], "pale"]
    rows = pd.concat([references, both, others], ignore_index=True)[order]
    return rows.assign(pale=rows["pale"].eq(True))


def _figure(key: str, title: str, both: pd.DataFrame, measured: str) -> Figure:
    theirs = both[["name", *(f"printed_{m}" for m in MEASURES)]].dropna()
    theirs = theirs.rename(columns={f"printed_{m}": m for m in MEASURES})
    pale = theirs.assign(name=theirs["name"] + " (published)", pale=True)
    ours = both.dropna(subset=["R"]).sort_values(["pale", "R"], kind="stable")
    table = pd.concat([ours, pale.sort_values("R", kind="stable")], ignore_index=True)
    return chart(
        key,
        f"{title}, measured here and as published (pale)",
        f"{measured}. Bands: intervals over contexts. Published figures carry the released "
        "code's single-token words and padding; see the notes.",
        table,
        "{name} R {R:.3f}",
        charts.risks,
    )


@dataclass(frozen=True, eq=False)
class Joint:
    """R, R^b, R^v of M models, and B replicates of them.

    Attributes:
        values: [M,3].
        draws: [B,M,3], normal errors around the values; in one replicate all models have seen the
            same contexts.
        n_eff: effective number of contexts.
    """

    values: FloatArray
    draws: FloatArray
    n_eff: float

    def interval(self, value: float, draws: FloatArray) -> tuple[float, float]:
        """A symmetric interval for a number computed from `values`; replicates in draws [B]."""
        degrees = max(self.n_eff - 1.0, 1.0)
        reach = float(student_reach(np.std(draws), degrees, level=_LEVEL))
        return value - reach, value + reach


def joint_replicates(
    grids: Sequence[PreferenceGrid], *, replicates: int = 2000, seed: int = 0
) -> Joint:
    """Replicates of the risks of M models over the same groups and contexts, with one mask.

    What each context contributes to a risk (`Bracket.contributions`) is multiplied by a normal
    number of its own, the same for all models. Equal models get equal replicates.

    >>> from clinometer.measure.grid import read_preferences
    >>> p = np.random.default_rng(0).beta(5, 5, (4, 30))
    >>> two = [read_preferences(np.stack([p, 1 - p], -1))] * 2
    >>> found = joint_replicates(two, replicates=100)
    >>> found.draws.shape, bool((found.draws[:, 0] == found.draws[:, 1]).all())
    ((100, 2, 3), True)
    """
    found = [bracket(Evidence.of(grid)) for grid in grids]
    values = np.stack([one.value[:, -1] for one in found])
    weights = found[0].weights[:, -1]
    q = float(weights @ weights)
    away = np.stack([one.contributions[..., -1] for one in found])
    away -= (away @ weights)[..., None]
    errors = away * weights / np.sqrt(max(1 - q, ROUNDING))
    z = np.random.default_rng(seed).standard_normal((replicates, len(weights)))
    return Joint(values, values + np.einsum("bu,mtu->bmt", z, errors), 1.0 / q)


def joint(runs: Sequence[Run], *, seed: int = 0) -> Joint:
    """The risks of runs with the same cells, under common resampling of the contexts."""
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
    """Kendall's tau of values [..,M] and [..,M]: pairs in the same order minus pairs in opposite
    order, over all pairs.

    1: the same ranking; -1: the opposite one; about 0: none of the one in the other. A pair that
    ties in either counts for neither (tau-a).

    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).round(3).item()
    0.667
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    i, j = np.triu_indices(x.shape[-1], k=1)
    first, second = (values[..., i] - values[..., j] for values in (x, y))
    tied = (np.abs(first) <= ROUNDING) | (np.abs(second) <= ROUNDING)
    return np.asarray(np.where(tied, 0.0, np.sign(first * second)).mean(axis=-1))


def size_findings(results: Results, *, seed: int = 0) -> Findings:
    """Slopes of R, R^b and R^v per tenfold size, with two intervals that mean different things."""
    named = [(planned.label, run) for planned, run in results]
    members = _by_size(named)
    rows = []
    for name, run, size in members:
        for measure in MEASURES:
            shown = getattr(run.risks, measure)
            ends = {"value": shown.value, "low": shown.low, "high": shown.high}
            rows.append({"name": name, "x": size, "measure": measure, **ends})
    slopes = _slopes(members, seed=seed)
    table, fitted = pd.DataFrame(rows), pd.DataFrame(slopes)
    return Findings(
        "size",
        [
            Table(
                "size-slopes",
                "Change of the risk with ten times the parameters",
                fitted,
            ),
            risks_table("size-risks", "Risks by size", named),
        ],
        [
            chart(
                "size",
                "Risk and model size",
                f"{basis(named[0][1])}. A line joins the sizes; bars: intervals over contexts.",
                table,
                "{name} {measure} {value:.3f}",
                charts.trend,
                x_title="parameters",
            )
        ],
        [run for _, run in named],
        [
            f"{RISKS[row['measure']].in_sentences}, ten times the parameters, over contexts: "
            f"{verdict(row, **_TREND)}"
            for row in slopes
        ],
    )


_TREND = {"higher": "rises", "lower": "falls", "neither": "no clear trend"}


def over_models(
    x: FloatArray, y: FloatArray
) -> tuple[float, float] | tuple[None, None]:
    """The usual interval of a slope, from the scatter of the models around the line."""
    freedom = len(x) - 2
    if freedom < 1:
        return None, None
    line = linregress(x, y)
    reach = float(student_reach(line.stderr, freedom, level=_LEVEL))
    return float(line.slope - reach), float(line.slope + reach)


def _by_size(members: list[tuple[str, Run]]) -> list[tuple[str, Run, int]]:
    sized = []
    for name, run in members:
        size = run.record.model.parameters
        if not size:
            raise RunError(
                f"study size: expected models with a number of parameters, found none of {name}; "
                "leave it out"
            )
        sized.append((name, run, size))
    if len({s for _, _, s in sized}) < 2:
        raise RunError("study size: expected at least two different sizes")
    return sorted(sized, key=lambda m: m[2])


def _slopes(members: list[tuple[str, Run, int]], *, seed: int) -> list[dict[str, Any]]:
    x = np.log10([size for _, _, size in members])
    risks = joint([run for _, run, _ in members], seed=seed)
    rows = []
    for i, measure in enumerate(MEASURES):
        value = float(np.polyfit(x, risks.values[:, i], 1)[0])
        low, high = risks.interval(value, np.polyfit(x, risks.draws[:, :, i].T, 1)[0])
        ends = dict(
            zip(("low", "high"), over_models(x, risks.values[:, i]), strict=True)
        )
        rows.append(
            {"measure": measure, "value": value, "low": low, "high": high}
            | {f"over_models_{end}": number for end, number in ends.items()}
            | {"models": len(members), "n_eff": risks.n_eff}
        )
    return rows


def source_sets(
    topic: Topic, given: Sequence[tuple[str, str]]
) -> list[tuple[str, ContextSet]]:
    """The given sets, or the built-in ones of the topic."""
    if given:
        return [(name, load_contexts(where, topic=topic)) for name, where in given]
    names = builtin_contexts()
    sets = [
        (s, load_contexts(f"{s}-{topic.name}"))
        for s in SOURCES
        if f"{s}-{topic.name}" in names
    ]
    if len(sets) < 2:
        raise ContextError(
            f"study sources: topic {topic.name!r} has fewer than two built-in sets of sources; "
            "name them: --source book=book.csv --source web=web.csv"
        )
    return sets


def sources_findings(results: Results, *, seed: int = 0) -> Findings:
    """Risks by source, and Kendall's tau of each pair of sources with an interval over contexts."""
    names = list(dict.fromkeys(planned.role for planned, _ in results))
    # Only models that were scored in every source can be ranked.
    labels = [{label for label, _ in only(results, name)} for name in names]
    models = [
        label for label, _ in only(results, names[0]) if all(label in s for s in labels)
    ]
    if len(models) < 2 or len(names) < 2:
        raise SettingsError(
            "study sources: expected two models that were scored in two sources"
        )
    by_source = {
        name: [(label, run) for label, run in only(results, name) if label in models]
        for name in names
    }
    risks = {
        name: joint([run for _, run in named], seed=seed + i)
        for i, (name, named) in enumerate(by_source.items())
    }
    members = [
        (label, name, run) for name, named in by_source.items() for label, run in named
    ]
    members.sort(key=lambda member: member[0])
    titles = [f"{model}, {name}" for model, name, _ in members]
    table = pd.DataFrame(risk_rows([run for *_, run in members], titles))
    return Findings(
        "sources",
        [
            Table("sources-agreement", "Agreement of the rankings", agreement(risks)),
            Table(
                "sources-published", "The same of the published figures", _published()
            ),
            *(
                risks_table(f"sources-{name}", f"Contexts from {name}", named)
                for name, named in by_source.items()
            ),
        ],
        [
            chart(
                "sources",
                "One model, several sources of contexts",
                "Risks of each model in the contexts of each source, with intervals over contexts.",
                table,
                "{name} R {R:.3f}",
                charts.risks,
            )
        ],
        [run for _, run in results],
    )


def agreement(risks: dict[str, Joint]) -> pd.DataFrame:
    """Kendall's tau of each pair of sources and measure; its interval is of replicates that are
    independent between sources. Of four models tau has seven values only, and so have its ends."""
    rows = []
    for (a, first), (b, second) in itertools.combinations(risks.items(), 2):
        for m, measure in enumerate(MEASURES):
            value = float(kendall(first.values[:, m], second.values[:, m]))
            drawn = kendall(first.draws[:, :, m], second.draws[:, :, m])
            tau = percentile_estimate(
                value, drawn, level=_LEVEL, method="contexts", contain=True
            )
            rows.append(
                {"pair": f"{a}, {b}", "measure": measure, **with_ends("tau", tau)}
            )
    return pd.DataFrame(rows)


def _published() -> pd.DataFrame:
    """Kendall's tau of the printed R: the paper calls the rankings consistent."""
    R = {
        table.contexts: {model: values[0] for model, values in table.models.items()}
        for table in printed().values()
        if table.topic == "gender"
    }
    models = list(R["book"])
    return pd.DataFrame(
        {
            "pair": f"{a}, {b}",
            "tau": float(kendall(*([R[s][m] for m in models] for s in (a, b)))),
        }
        for a, b in itertools.combinations(R, 2)
    )
