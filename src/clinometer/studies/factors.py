"""Risk against social factors (BVF 4.4 and C.2): weighted regressions over the groups of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.numbers import counted
from clinometer.errors import ClinometerError, TableError
from clinometer.measure.risks import GROUP_RISKS
from clinometer.report import Extra, Figure, LoadedRun, Table
from clinometer.report.cell_statistics import CellStatistics, lean_errors
from clinometer.report.figures.factor import (
    FACTOR_NAMES,
    FACTOR_STEPS,
    factor_figure,
)
from clinometer.report.figures.run_words import basis
from clinometer.runs import Run
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.intervals.reach import normal_error
from clinometer.statistics.regression import regress, regress_each
from clinometer.storage.rows import read_rows, reading
from clinometer.storage.untrusted import open_text
from clinometer.studies.framework import Findings
from clinometer.topics import load_list

WEIGHT = "employment_thousands"
"""The column that groups may weigh by."""

FACTORS = (
    "median_annual_wage_usd",
    "mean_years_education",
    "percent_women",
    "log10_per_million_words",
)
"""The four factors of the paper, in the columns of the built-in table."""


@dataclass(frozen=True)
class Weighting:
    """What groups weigh by."""

    employment: bool
    error: bool
    """The standard error of their risk."""


WEIGHTS = {
    "both": Weighting(employment=True, error=True),
    "employment": Weighting(employment=True, error=False),
    "error": Weighting(employment=False, error=True),
    "none": Weighting(employment=False, error=False),
}
"""The weightings by their names."""

SOURCES = {
    WEIGHT: "BLS Employment Projections 2022-32, Table 1.7",
    "median_annual_wage_usd": "BLS Employment Projections 2022-32 and OEWS, May 2022",
    "mean_years_education": "BLS Employment Projections 2022-32, Table 5.3",
    "percent_women": "Current Population Survey 2022, table 11",
    "log10_per_million_words": "our count in 13,000 articles of the English Wikipedia",
    "log10_per_million_listed": "the list of word frequencies given as --factors; the paper cites "
    "results/enwiki-2022-08-29.txt of github.com/IlyaSemenov/wikipedia-word-frequency",
}
"""Where the built-in figures come from; topics/builtin/occupations.source.toml says more."""

LISTED = "log10_per_million_listed"
"""The column that a list of word frequencies adds to the built-in ones."""

LARGEST_P = 0.05
"""A line through points is drawn up to this p; above it, its slope is a line of text."""

_MISSING = ("", "NA", "NaN", "nan")
"""Cells of a table without a figure."""


def factor_findings(
    run: Run,
    *,
    table: pd.DataFrame | None = None,
    measure: str = "r",
    weights: str = "both",
) -> Findings:
    """Return the risk of the groups against each factor alone and against all of them together.

    Each factor has its chart (Figures 9 and 12 to 15). `weights` is one of WEIGHTS: by employment,
    as in the paper; by the standard error of each r_x, from its interval, where every group has
    one; by both, or by neither. Groups without a figure are left out of that regression and
    counted.
    """
    if weights not in WEIGHTS:
        raise TableError(
            f"weights: expected one of {', '.join(WEIGHTS)}, found {weights!r}"
        )
    if measure not in GROUP_RISKS:
        raise TableError(
            f"measure: expected one of {', '.join(GROUP_RISKS)}, found {measure!r}"
        )
    of_groups = GroupFactors.of(run, table)
    is_lacking = of_groups.values[of_groups.columns].isna().all(axis=1)
    if is_lacking.all():
        raise TableError("factors: the table has no figure for any group of this run")
    by_employment = WEIGHTS[weights].employment and WEIGHT in of_groups.values.columns
    y = np.asarray(getattr(run.risks, measure))
    y_se = standard_errors(run, measure) if WEIGHTS[weights].error else None
    rows = _slopes(y, y_se, of_groups, by_employment=by_employment)
    slopes = Table(
        "factors", f"{run.model}: {measure} on each factor", pd.DataFrame(rows)
    )
    figures, notes = factor_figures(
        run, y, y_se, measure=measure, table=table, weighted=by_employment
    )
    if is_lacking.any():
        names = ", ".join(is_lacking.index[is_lacking])
        lacking = counted(int(is_lacking.sum()), "group")
        notes.append(f"{lacking} without any figure: {names}.")
    if table is None:
        notes.append(sources_in_words(FACTORS))
    elif LISTED in table.columns:
        notes.append(sources_in_words((*FACTORS, LISTED)))
    weighting = _weighting_in_words(by_employment, with_error=y_se is not None)
    return Findings("factors", [slopes], figures, [run], [weighting, *notes])


def _slopes(
    y: FloatArray,
    y_se: FloatArray | None,
    of_groups: GroupFactors,
    *,
    by_employment: bool,
) -> list[dict[str, Any]]:
    """Return the slope of a risk [X] on each factor, as rows of a table."""
    factors = {column: of_groups.column(column) for column in of_groups.columns}
    weights = of_groups.column(WEIGHT) if by_employment else None
    is_complete = ~np.isnan(np.stack([*factors.values()])).any(axis=0)
    together = None
    if is_complete.sum() > len(factors) + 2 and len(factors) > 1:
        together = regress(y, factors, weights=weights, y_se=y_se)
    rows = []
    for name, fit in regress_each(y, factors, weights=weights, y_se=y_se).items():
        step, unit = FACTOR_STEPS.get(name, (1, "unit"))
        slope = fit[name]
        row: dict[str, Any] = {
            "factor": FACTOR_NAMES.get(name, name),
            "per": unit,
            "slope": step * slope.value,
            "slope_low": step * slope.low,
            "slope_high": step * slope.high,
            "p": slope.p,
            "p_holm": slope.p_holm,
            "p_together": None if together is None else together[name].p,
            "r_squared": fit.r_squared,
            "n": fit.n,
        }
        rows.append(row)
    return rows


def _weighting_in_words(by_employment: bool, *, with_error: bool) -> str:
    """Return the sentence about what groups weigh."""
    if with_error:
        weight = WEIGHT if by_employment else "1"
        return (
            f"Groups weigh {weight} / (tau² + se²), less where their risk is less certain. The "
            "paper weights by employment alone: --weights employment."
        )
    weight = f"{WEIGHT}, as in the paper" if by_employment else "the same"
    return f"Groups weigh {weight}; the error of each risk is left out."


@dataclass(frozen=True, eq=False)
class GroupFactors:
    """Figures of a run's groups."""

    values: pd.DataFrame
    """A row for each group; empty where there is no figure."""

    columns: list[str]
    """Those that are factors."""

    @classmethod
    def of(cls, run: Run, table: pd.DataFrame | None) -> GroupFactors:
        """Return the figures of a table, or the built-in ones."""
        groups = list(run.risks.groups)
        if table is None:
            return cls(builtin_factors().reindex(groups), list(FACTORS))
        columns = [column for column in table.columns if column != WEIGHT]
        return cls(table.reindex(groups), columns)

    def column(self, name: str) -> FloatArray:
        """Return one figure of every group [X], NaN where there is none."""
        return self.values[name].to_numpy(dtype=float)


def factor_figures(
    run: Run,
    y: FloatArray,
    y_se: FloatArray | None,
    *,
    measure: str,
    table: pd.DataFrame | None = None,
    weighted: bool = True,
    largest_p: float = 1.0,
) -> tuple[list[Figure], list[str]]:
    """Return a chart of y, a number of each group, against each factor, and why others are not
    drawn; a slope whose p is above `largest_p` is a line of text."""
    of_groups = GroupFactors.of(run, table)
    weights = of_groups.column(WEIGHT) if weighted else None
    figures: list[Figure] = []
    notes: list[str] = []
    for column in of_groups.columns:
        name = FACTOR_NAMES.get(column, column)
        source = ""
        if table is None:
            source = (
                f"Sources: {name}, {SOURCES[column]}; employment, {SOURCES[WEIGHT]}."
            )
        try:
            figure = factor_figure(
                y,
                of_groups.column(column),
                factor=column,
                groups=run.risks.groups,
                weights=weights,
                y_se=y_se,
                measure=measure,
                basis=basis(run),
                source=source,
                largest_p=largest_p,
            )
        except ClinometerError as error:  # too few groups have this figure
            notes.append(f"No chart against {name}: {error}.")
            continue
        if isinstance(figure, str):
            notes.append(figure)
        else:
            figures.append(figure)
    return figures, notes


def factor_extras(opened: list[LoadedRun]) -> list[Extra]:
    """Return the lean of the groups against the built-in social factors, for runs whose groups have
    them."""
    # Of several models the slopes only.
    largest_p = LARGEST_P if len(opened) == 1 else 0.0
    extras = []
    for loaded in opened:
        if loaded.run is None or loaded.state != "finished":
            continue
        figures_of_groups = GroupFactors.of(loaded.run, None).values
        if figures_of_groups.isna().all(axis=None):
            continue
        model = loaded.name if len(opened) > 1 else ""
        incomplete = int(figures_of_groups.isna().any(axis=1).sum())
        extras.append(_factor_extra(loaded.run, model, incomplete, largest_p))
    return extras


def _factor_extra(run: Run, model: str, incomplete: int, largest_p: float) -> Extra:
    """Return the part of a report about social factors; `incomplete` groups lack a figure.

    With two categories the lean has a sign, and the sign is the finding: unsigned risk runs flat
    through a lean that follows a factor from one side to the other. Of more categories the risk.
    """
    report = run.risks
    if len(report.categories) == 2:
        title = "Lean and social factors"
        measure = f"lean to {report.categories[1]}"
        y = report.mean_stereotype[:, 1]
        errors = lean_errors(CellStatistics(run), 1)
    else:
        title = "Risk and social factors"
        measure = "r"
        y = report.r
        errors = standard_errors(run, "r")
    if model:
        title += f": {model}"
    figures, notes = factor_figures(
        run, y, errors, measure=measure, largest_p=largest_p
    )
    text = (
        f"Weighted by employment. Left out where a figure of theirs is missing: {incomplete} of "
        f"{counted(len(report.groups), 'group')}. {sources_in_words()}"
    )
    return Extra(title, (text, *notes), tuple(figures))


def sources_in_words(factors: Sequence[str] = FACTORS) -> str:
    """Return where the figures come from."""
    sources = [f"{FACTOR_NAMES[name]}: {SOURCES[name]}" for name in factors]
    return f"Sources: {'; '.join(sources)}; employment: {SOURCES[WEIGHT]}."


def builtin_factors() -> pd.DataFrame:
    """Return figures of the 120 occupations; empty if BLS has no sound match."""
    rows = {group.name: dict(group.factors) for group in load_list("occupations")}
    return pd.DataFrame.from_dict(rows, orient="index").astype(float)


def read_factors(path: str | Path) -> pd.DataFrame:
    """Read your own table: a column `group`, then one column per factor.

    A .txt file is a list of words with their counts, which becomes one more column beside the
    built-in ones.
    """
    path = Path(path)
    if path.suffix == ".txt":
        frame = builtin_factors()[[WEIGHT, *FACTORS]]
        return frame.assign(**{LISTED: _per_million(path, frame.index)})
    frame = pd.DataFrame(read_rows(path))
    if frame.columns.isna().any():
        raise TableError(
            f"{path}: expected no more cells in a row than columns, found more"
        )
    if "group" not in frame.columns or len(frame.columns) < 2:
        raise TableError(f"{path}: expected a column group and at least one factor")
    repeated = frame["group"][frame["group"].duplicated()]
    if len(repeated):
        raise TableError(
            f"{path}: expected each group once, found {repeated.iloc[0]!r} twice"
        )
    frame = frame.set_index("group")
    for column in frame.columns:
        texts = frame[column].mask(frame[column].isin(_MISSING))
        numbers = pd.to_numeric(texts, errors="coerce")
        if (numbers.isna() & texts.notna()).any():
            raise TableError(f"{path}: column {column}: expected numbers")
        frame[column] = numbers
    return frame.astype(float)


def _per_million(path: Path, words: Iterable[str]) -> list[float]:
    """Return the logarithm of each word's frequency per million in a list of `word count` lines."""
    counts = dict.fromkeys(words, 0)
    total = 0
    with reading(path, TableError), open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            word, _, count = line.strip().rpartition(" ")
            is_count = count.isascii() and count.isdigit() and len(count) <= 15
            if not word or not is_count:
                raise TableError(
                    f"{path}: line {number}: expected a word, a space and its count, found "
                    f"{line.strip()[:60]!r}"
                )
            total += int(count)
            if word in counts:
                counts[word] += int(count)
    return [math.log10(1e6 * n / total) if n else math.nan for n in counts.values()]


def standard_errors(run: Run, measure: str) -> FloatArray | None:
    """Return standard errors from the intervals of the groups [X], taken as two normal quantiles
    wide.

    None where a group has no interval, or one of width 0, which says that nothing was seen to vary,
    not that it is known.
    """
    intervals = run.risks.intervals
    if intervals is None:
        return None
    ends = getattr(intervals, measure)
    width = np.asarray(ends[:, 1] - ends[:, 0])
    if not np.isfinite(width).all() or (width <= 0).any():
        return None
    return normal_error(width, level=intervals.level)
