"""Risk against social factors (BVF 4.4 and C.2): weighted regressions over the groups of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.display.numbers import counted
from clinometer.errors import ClinometerError, TableError
from clinometer.measure.risks import GROUP_RISKS
from clinometer.report import Extra, Figure, LoadedRun, Table
from clinometer.report.cell_statistics import CellStatistics, lean_errors
from clinometer.report.figures import FACTOR_NAMES, FACTOR_STEPS, basis, factor_figure
from clinometer.runs import Run
from clinometer.statistics.intervals.reach import normal_error
from clinometer.statistics.regression import regress, regress_each
from clinometer.storage.rows import read_rows, reading
from clinometer.storage.untrusted import open_text
from clinometer.studies.framework import Findings
from clinometer.topics import load_list

WEIGHT = "employment_thousands"
#: The four factors of the paper, in the columns of the built-in table.
FACTORS = (
    "median_annual_wage_usd",
    "mean_years_education",
    "percent_women",
    "log10_per_million_words",
)
#: What groups weigh by: employment, and the error of their risk.
WEIGHTS = {
    "both": (True, True),
    "employment": (True, False),
    "error": (False, True),
    "none": (False, False),
}
#: Where the built-in figures come from; topics/builtin/occupations.source.toml says more.
SOURCES = {
    WEIGHT: "BLS Employment Projections 2022-32, Table 1.7",
    "median_annual_wage_usd": "BLS Employment Projections 2022-32 and OEWS, May 2022",
    "mean_years_education": "BLS Employment Projections 2022-32, Table 5.3",
    "percent_women": "Current Population Survey 2022, table 11",
    "log10_per_million_words": "our count in 13,000 articles of the English Wikipedia",
    "log10_per_million_listed": "the list of word frequencies given as --factors; the paper cites "
    "results/enwiki-2022-08-29.txt of github.com/IlyaSemenov/wikipedia-word-frequency",
}
#: The column that a list of word frequencies adds to the built-in ones.
LISTED = "log10_per_million_listed"


def factor_findings(
    run: Run,
    *,
    table: pd.DataFrame | None = None,
    measure: str = "r",
    weights: str = "both",
) -> Findings:
    """The risk of the groups against each factor alone and against all of them together, with a
    chart of each (Figures 9 and 12 to 15).

    `weights` is one of WEIGHTS: by employment, as in the paper; by the standard error of each r_x,
    from its interval, where every group has one; by both, or by neither. Groups without a figure
    are left out of that regression and counted.
    """
    if weights not in WEIGHTS:
        raise TableError(
            f"weights: expected one of {', '.join(WEIGHTS)}, found {weights!r}"
        )
    if measure not in GROUP_RISKS:
        raise TableError(
            f"measure: expected one of {', '.join(GROUP_RISKS)}, found {measure!r}"
        )
    employed, errors = WEIGHTS[weights]
    values, columns = _of_groups(run, table)
    lacking = values[columns].isna().all(axis=1)
    if lacking.all():
        raise TableError("factors: the table has no figure for any group of this run")
    employed = employed and WEIGHT in values.columns
    y, y_se = np.asarray(getattr(run.risks, measure)), standard_errors(run, measure)
    options: dict[str, Any] = {
        "weights": values[WEIGHT].to_numpy(dtype=float) if employed else None,
        "y_se": y_se if errors else None,
    }
    factors = {c: values[c].to_numpy(dtype=float) for c in columns}
    complete = ~np.isnan(np.stack([*factors.values()])).any(axis=0)
    together = None
    if complete.sum() > len(factors) + 2 and len(factors) > 1:
        together = regress(y, factors, **options)
    rows = []
    for name, fit in regress_each(y, factors, **options).items():
        step, unit = FACTOR_STEPS.get(name, (1, "unit"))
        c = fit[name]
        row: dict[str, Any] = {"factor": FACTOR_NAMES.get(name, name), "per": unit}
        row |= {
            "slope": step * c.value,
            "slope_low": step * c.low,
            "slope_high": step * c.high,
        }
        row |= {"p": c.p, "p_holm": c.p_holm}
        row["p_together"] = None if together is None else together[name].p
        rows.append(row | {"r_squared": fit.r_squared, "n": fit.n})
    figures, notes = factor_figures(
        run, y, options["y_se"], measure=measure, table=table, weighted=employed
    )
    if lacking.any():
        names = ", ".join(lacking.index[lacking])
        notes.append(
            f"{counted(int(lacking.sum()), 'group')} without any figure: {names}."
        )
    sources = []
    if table is None or LISTED in table.columns:
        sources = [sources_in_words(FACTORS if table is None else (*FACTORS, LISTED))]
    weighed = f"{WEIGHT}, as in the paper" if employed else "the same"
    how = f"Groups weigh {weighed}; the error of each risk is left out."
    if options["y_se"] is not None:
        how = (
            f"Groups weigh {WEIGHT if employed else '1'} / (tau² + se²), less where their risk is "
            "less certain. The paper weights by employment alone: --weights employment."
        )
    regressed = Table(
        "factors", f"{run.model}: {measure} on each factor", pd.DataFrame(rows)
    )
    return Findings("factors", [regressed], figures, [run], [how, *notes, *sources])


def _of_groups(run: Run, table: pd.DataFrame | None) -> tuple[pd.DataFrame, list[str]]:
    """The figures of a run's groups, and the columns that are factors."""
    values = (builtin_factors() if table is None else table).reindex(
        list(run.risks.groups)
    )
    return values, [
        c for c in (FACTORS if table is None else values.columns) if c != WEIGHT
    ]


def factor_figures(
    run: Run,
    y: NDArray[np.float64],
    y_se: NDArray[np.float64] | None,
    *,
    measure: str,
    table: pd.DataFrame | None = None,
    weighted: bool = True,
    largest_p: float = 1.0,
) -> tuple[list[Figure], list[str]]:
    """A chart of y, a number of each group, against each factor, and why others are not drawn; a
    slope whose p is above `largest_p` is a line of text."""
    values, columns = _of_groups(run, table)
    figures: list[Figure] = []
    notes: list[str] = []
    for name in columns:
        shown = FACTOR_NAMES.get(name, name)
        source = ""
        if table is None:
            source = (
                f"Sources: {shown}, {SOURCES[name]}; employment, {SOURCES[WEIGHT]}."
            )
        try:
            figure = factor_figure(
                y,
                values[name].to_numpy(dtype=float),
                factor=name,
                groups=run.risks.groups,
                weights=values[WEIGHT].to_numpy(dtype=float) if weighted else None,
                y_se=y_se,
                measure=measure,
                basis=basis(run),
                source=source,
                largest_p=largest_p,
            )
        except ClinometerError as error:  # too few groups have this figure
            figure = f"No chart against {shown}: {error}."
        if isinstance(figure, str):
            notes.append(figure)
        else:
            figures.append(figure)
    return figures, notes


#: A line through points is drawn up to this p; above it, its slope is a line of text.
SHOWN = 0.05


def factor_extras(opened: list[LoadedRun]) -> list[Extra]:
    """The lean of the groups against the built-in social factors, for runs whose groups have them.

    With two categories the lean has a sign, and the sign is the finding: unsigned risk runs flat
    through a lean that follows a factor from one side to the other. Of more categories the risk.
    """
    table = builtin_factors()
    shown = SHOWN if len(opened) == 1 else 0.0  # of several models the slopes only
    extras = []
    for one in opened:
        if one.run is None or one.state != "finished":
            continue
        run, report = one.run, one.run.risks
        signed = len(report.categories) == 2
        known = table.reindex(list(report.groups))
        if known.isna().all(axis=None):
            continue
        y, errors, measure = report.r, standard_errors(run, "r"), "r"
        if signed:
            y, errors = (
                report.mean_stereotype[:, 1],
                lean_errors(CellStatistics(run), 1),
            )
            measure = f"lean to {report.categories[1]}"
        figures, notes = factor_figures(
            run, y, errors, measure=measure, largest_p=shown
        )
        without = int(known.isna().any(axis=1).sum())
        text = (
            f"Weighted by employment. Left out where a figure of theirs is missing: {without} of "
            f"{counted(len(report.groups), 'group')}. {sources_in_words()}"
        )
        title = "Lean and social factors" if signed else "Risk and social factors"
        title += f": {one.name}" if len(opened) > 1 else ""
        extras.append(Extra(title, (text, *notes), tuple(figures)))
    return extras


def sources_in_words(factors: Sequence[str] = FACTORS) -> str:
    """Where the figures come from."""
    each = [f"{FACTOR_NAMES[name]}: {SOURCES[name]}" for name in factors]
    return f"Sources: {'; '.join(each)}; employment: {SOURCES[WEIGHT]}."


def builtin_factors() -> pd.DataFrame:
    """Figures of the 120 occupations; empty if BLS has no sound match."""
    rows = {g.name: dict(g.factors) for g in load_list("occupations")}
    return pd.DataFrame.from_dict(rows, orient="index").astype(float)


#: Cells of a table without a figure.
_MISSING = ("", "NA", "NaN", "nan")


def read_factors(path: str | Path) -> pd.DataFrame:
    """Read your own table: a column `group`, then one column per factor. A .txt file is a list of
    words with their counts, which becomes one more column beside the built-in ones."""
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
    if len(twice := frame["group"][frame["group"].duplicated()]):
        raise TableError(
            f"{path}: expected each group once, found {twice.iloc[0]!r} twice"
        )
    frame = frame.set_index("group")
    for column in frame.columns:
        given = frame[column].mask(frame[column].isin(_MISSING))
        numbers = pd.to_numeric(given, errors="coerce")
        if (numbers.isna() & given.notna()).any():
            raise TableError(f"{path}: column {column}: expected numbers")
        frame[column] = numbers
    return frame.astype(float)


def _per_million(path: Path, words: Iterable[str]) -> list[float]:
    """The logarithm of each word's frequency per million in a list of `word count` lines."""
    counts = dict.fromkeys(words, 0)
    total = 0
    with reading(path, TableError), open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            word, _, count = line.strip().rpartition(" ")
            if (
                not word
                or not count.isascii()
                or not count.isdigit()
                or len(count) > 15
            ):
                raise TableError(
                    f"{path}: line {number}: expected a word, a space and its count, found "
                    f"{line.strip()[:60]!r}"
                )
            total += int(count)
            if word in counts:
                counts[word] += int(count)
    return [math.log10(1e6 * n / total) if n else math.nan for n in counts.values()]


def standard_errors(run: Run, measure: str) -> NDArray[np.float64] | None:
    """From the intervals of the groups, taken as two normal quantiles wide; None where a group
    has none, or one of width 0, which says that nothing was seen to vary, not that it is known."""
    intervals = run.risks.intervals
    if intervals is None:
        return None
    bounds = getattr(intervals, measure)
    width = np.asarray(bounds[:, 1] - bounds[:, 0])
    if not np.isfinite(width).all() or (width <= 0).any():
        return None
    return normal_error(width, level=intervals.level)
