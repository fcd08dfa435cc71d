"""Figure 7: one family in several sizes; the trend of bias and volatility with log size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import linregress

from clinometer.display.numbers import IN_SENTENCES, MEASURES
from clinometer.errors import RunError
from clinometer.report import Table, charts
from clinometer.report.figure import chart
from clinometer.report.figures import basis
from clinometer.runs import Run
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.framework import (
    Findings,
    Results,
    only,
    risks_table,
    verdict,
)
from clinometer.studies.joint import joint

_LEVEL = 0.95


def size_findings(results: Results, *, seed: int = 0) -> Findings:
    """Slopes of R, R^b and R^v per tenfold size, with two intervals that mean different things."""
    rows: list[dict[str, Any]] = []
    slopes: list[dict[str, Any]] = []
    for family in dict.fromkeys(planned.role for planned, _ in results):
        members = _by_size(only(results, family))
        rows += [
            {"series": family, "name": name, "x": size, "measure": measure}
            | {
                part: getattr(getattr(run.risks, measure), part)
                for part in ("value", "low", "high")
            }
            for name, run, size in members
            for measure in MEASURES
        ]
        slopes += _slopes(family, members, seed=seed)
    table, fitted = pd.DataFrame(rows), pd.DataFrame(slopes)
    named = [(planned.label, run) for planned, run in results]
    return Findings(
        "size",
        [
            Table("size-slopes", "Change of the risk with ten times the parameters", fitted),
            risks_table("size-risks", "Risks by size", named),
        ],
        [
            chart(
                "size",
                "Risk and model size",
                f"{basis(named[0][1])}. Lines join the sizes of a family; bars: intervals over "
                "contexts.",
                table,
                "{name} {measure} {value:.3f}",
                charts.trend,
                x_title="parameters",
            )
        ],
        [run for _, run in named],
        [
            f"{row['family']} {IN_SENTENCES[row['measure']]}, ten times the parameters, over "
            f"contexts: {verdict(row, **_TREND)}".strip()
            for row in slopes
        ],
    )


_TREND = {"higher": "rises", "lower": "falls", "neither": "no clear trend"}


def slope(x: FloatArray, y: FloatArray) -> FloatArray:
    """Least-squares slope of y [..,M] on x [M].

    >>> slope(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])).item()
    2.0
    """
    centred = x - x.mean()
    return np.asarray(y @ centred / (centred @ centred))


def over_models(x: FloatArray, y: FloatArray, *, level: float) -> tuple[float, float] | None:
    """The usual interval of a slope, from the scatter of the models around the line."""
    freedom = len(x) - 2
    if freedom < 1:
        return None
    line = linregress(x, y)
    reach = float(stdtrit(freedom, (1 + level) / 2)) * line.stderr
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
        raise RunError("study size: expected at least two different sizes in a family")
    return sorted(sized, key=lambda m: m[2])


def _slopes(family: str, members: list[tuple[str, Run, int]], *, seed: int) -> list[dict[str, Any]]:
    x = np.log10([size for _, _, size in members])
    risks = joint([run for _, run, _ in members], seed=seed)
    rows = []
    for i, measure in enumerate(MEASURES):
        value = float(slope(x, risks.values[:, i]))
        low, high = risks.interval(value, slope(x, risks.draws[:, :, i]), level=_LEVEL)
        wide = over_models(x, risks.values[:, i], level=_LEVEL)
        rows.append(
            {
                "family": family,
                "measure": measure,
                "value": value,
                "low": low,
                "high": high,
                "over_models_low": wide[0] if wide else None,
                "over_models_high": wide[1] if wide else None,
                "models": len(members),
                "n_eff": risks.n_eff,
            }
        )
    return rows
