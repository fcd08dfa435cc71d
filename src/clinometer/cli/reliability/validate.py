"""clinometer reliability validate: compare a score with human judgements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer.cli.option import opt
from clinometer.cli.parameters import JSON, LEVEL, REPLICATES, SEED
from clinometer.cli.printing import console, print_json
from clinometer.cli.reliability.agreement import (
    ColumnsOption,
    RatingsArgument,
    numbers,
)
from clinometer.cli.table import TerminalTable
from clinometer.display.numbers import p_value
from clinometer.errors import TableError
from clinometer.runs import AuditSettings

if TYPE_CHECKING:
    from clinometer.reliability.people import Validation
    from clinometer.statistics.rank import RankCorrelation


def validate_command(
    ratings: RatingsArgument,
    scores: Annotated[Path, typer.Argument(metavar="SCORES", help="A table with id and a score.")],
    column: Annotated[str, opt("The column of SCORES to validate.")] = "cobias",
    annotators: ColumnsOption = None,
    replicates: REPLICATES = AuditSettings.replicates,
    level: LEVEL = AuditSettings.level,
    seed: SEED = AuditSettings.seed,
    json_output: JSON = False,
) -> None:
    """Does a score agree with human judgements? Rank correlation and logistic regressions.

    Controls for sentence length if a table has a column sentence: a long sentence brings its own
    context, so score and judgement may agree on length alone.
    """
    from clinometer.reliability.people import read_ratings, validate

    given = read_ratings(ratings, columns=annotators)
    values, texts = _read_scores(scores, column)
    found = validate(
        given, values, texts=texts, score=column, replicates=replicates, level=level, seed=seed
    )
    if json_output:
        print_json(found.to_dict())
    else:
        _print(found)


def _read_scores(path: Path, column: str) -> tuple[dict[str, float], dict[str, str]]:
    from clinometer.reliability.benchmarks.files import need_columns, read_rows

    rows = read_rows(path)
    need_columns(path, rows, ("id", column))
    values: dict[str, float] = {}
    texts: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        item = str(row["id"]).strip()
        if item in values:
            raise TableError(
                f"{path}: expected every id once, found {item!r} again in row {number}"
            )
        try:
            values[item] = float(row[column])
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{path}: row {number}: expected a number in {column!r}, found {row[column]!r}"
            ) from error
        if text := row.get("sentence") or row.get("text"):
            texts[item] = str(text)
    return values, texts


def _print(found: Validation) -> None:
    out = console()
    table = TerminalTable(
        f"{found.score} and the judgements of {len(found.agreement.annotators)} people, "
        f"{found.items} items"
    )
    table.add_text("statistic").add_numbers("value", "interval", "p")

    def correlation(name: str, one: RankCorrelation | None) -> None:
        if one is not None:
            table.add_row(name, *numbers(one.rho), f"{one.p:.1e}")

    correlation("Spearman, score and mean judgement", found.correlation)
    correlation("the same, controlling for number of words", found.given_length)
    correlation("Spearman, score and number of words", found.with_length)
    table.add_row("Fleiss' kappa of the annotators", *numbers(found.agreement.fleiss), "")
    for name, alpha in found.agreement.alpha.items():
        table.add_row(f"Krippendorff's alpha, {name}", *numbers(alpha), "")
    table.print(out)

    table = TerminalTable("Logistic regression of the median judgement on the score")
    table.add_text("model").add_numbers("chi²", "df", "p", "McFadden R²")
    fits = [f for f in (found.multinomial, found.ordinal) if f is not None]
    for one in fits:
        row = f"{one.chi2:.1f}", str(one.df), f"{one.p:.1e}", f"{one.mcfadden:.3f}"
        table.add_row(one.kind, *row)
    if found.length_added is not None:
        chi2, df, p = found.length_added
        table.add_row(
            "ordinal, what the score adds to length", f"{chi2:.1f}", str(df), f"{p:.1e}", ""
        )
    table.print(out)

    table = TerminalTable("Odds ratios for one standard deviation of the score")
    table.add_text("model", "odds of").add_numbers("ratio", "interval", "p")
    for one in fits:
        for term in one.terms:
            odds = f"{term.outcome} against {one.base}" if term.outcome else "a higher judgement"
            between = f"{_exp(term.low)}–{_exp(term.high)}"
            table.add_row(one.kind, odds, _exp(term.value), between, p_value(term.p))
    table.print(out)
    counts = ", ".join(f"{c}: {n}" for c, n in found.outcome.items())
    out.print(f"items by median judgement: {counts}")
    if found.unmatched:
        out.print(f"{found.unmatched} ids have only a score or only a judgement and are left out")
    for one in fits:
        if one.problem:
            out.print(f"Caution: {one.kind} regression: {one.problem}; do not use its numbers")
    for note in found.agreement.notes:
        out.print(note)


def _exp(value: float) -> str:
    from math import exp

    return f"{exp(value):.2f}" if abs(value) < 10 else f"{exp(value):.1e}"
