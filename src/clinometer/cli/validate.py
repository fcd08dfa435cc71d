"""clinometer reliability validate: compare a score with human judgements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.options import LEVEL, REPLICATES, SEED
from clinometer.cli.printing import TerminalTable, console, print_json, say
from clinometer.cli.progress import progress
from clinometer.cli.reliability import write_frame
from clinometer.display.numbers import between, p_value, risk
from clinometer.errors import SettingsError, TableError
from clinometer.runs import AuditSettings

if TYPE_CHECKING:
    from clinometer.measure import Estimate
    from clinometer.reliability.people import Agreement, Ratings, Validation
    from clinometer.reliability.people.truth import TruthTest
    from clinometer.statistics.rank import RankCorrelation


# --- clinometer reliability agreement: do people agree, and what do they accept? -----------------


RatingsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS",
        help="Judgements: id and one column per annotator, or id, annotator, value.",
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    opt("A column of judgements; may be repeated.", "--annotator", unset="annotator…, rater…"),
]


def agreement_command(
    ratings: RatingsArgument,
    annotators: ColumnsOption = None,
    out: Annotated[Path | None, opt("Write the accepted items to a .csv or .parquet file.")] = None,
    dataset: Annotated[
        Path | None, opt("The table that was judged; --out then contains its rows, joined by id.")
    ] = None,
    accept: Annotated[
        list[str] | None, opt("A judgement that accepts an item; may be repeated.", unset="yes")
    ] = None,
    share: Annotated[str, opt("Share of judgements that must accept an item.")] = "2/3",
    judgements: Annotated[
        int, opt("Minimum number of judgements for an item to be accepted.", allowed=ranges.COUNT)
    ] = 2,
    replicates: REPLICATES = AuditSettings.replicates,
    level: LEVEL = AuditSettings.level,
    seed: SEED = AuditSettings.seed,
    json_output: JSON = False,
) -> None:
    """Percent agreement, kappa and alpha with intervals, outlying annotators, accepted items.

    An empty cell, "skip" and "na" do not count as judgements. --out writes the items that at least
    --share of their annotators accept.
    """
    from clinometer.reliability.people import Rule, accepted, agreement, read_ratings
    from clinometer.reliability.people.agreement import parse_share

    rule = Rule(tuple(a.strip().lower() for a in accept or ["yes"]), parse_share(share), judgements)
    given = read_ratings(ratings, columns=annotators)
    found = agreement(given, replicates=replicates, level=level, seed=seed)
    kept = None
    if accept or out is not None or set(rule.categories) & set(given.categories):
        kept = accepted(given, rule)
    if out is not None and kept is not None:
        _write(given, kept, out=out, dataset=dataset)
    elif dataset is not None:
        raise SettingsError("--dataset: expected --out with it")
    if json_output:
        result = found.to_dict()
        result["summary"]["accepted"] = None if kept is None else len(kept)
        print_json(result)
        return
    print_agreement(found)
    if kept is not None:
        where = "" if out is None else f", written to {out}"
        console().print(
            f"{len(kept)} of {found.items} items accepted ({', '.join(rule.categories)} by at "
            f"least {rule.share}){where}",
            markup=False,
            soft_wrap=True,
        )


def print_agreement(found: Agreement) -> None:
    """The tables, and notes on how to read them."""
    out = console()
    steps = sorted({s for _, s, _ in found.levels})
    table = TerminalTable(f"Agreement of {len(found.annotators)} annotators on {found.items} items")
    table.add_text("majority").add_numbers(*(f"{float(s):.2%}" for s in steps), "items")
    for category in dict.fromkeys(c for c, _, _ in found.levels):
        at = {s: n for c, s, n in found.levels if c == category}
        table.add_row(category, *(str(at.get(s, 0)) for s in steps), str(sum(at.values())))
    table.print(out)

    table = TerminalTable("Beyond chance").add_text("statistic").add_numbers("value", "interval")
    table.add_row("agreement observed", *numbers(found.observed))
    table.add_row("agreement by chance", f"{found.by_chance:.3f}", "")
    table.add_row("Fleiss' kappa", *numbers(found.fleiss))
    for name, alpha in found.alpha.items():
        table.add_row(f"Krippendorff's alpha, {name}", *numbers(alpha))
    table.add_row("Gwet's AC1", *numbers(found.ac1))
    table.add_row("Brennan-Prediger (PABAK)", *numbers(found.brennan_prediger))
    for pair in found.cohen[:10]:
        label = f"Cohen's kappa, {pair.a} and {pair.b}"
        table.add_row(label, *numbers(pair.kappa))
        if pair.quadratic is not None:
            table.add_row("  the same, squared weights", *numbers(pair.quadratic))
    table.print(out)
    if len(found.cohen) > 10:
        out.print(f"{len(found.cohen) - 10} more pairs of annotators: --json has them")

    chose = TerminalTable("What they chose").add_text("annotator")
    chose.add_numbers("items", *found.prevalence)
    against = TerminalTable("How often they differ from a majority, by its category")
    against.add_text("annotator").add_numbers(*found.prevalence)
    for row in found.annotators:
        shares = (f"{row.shares[c]:.1%}" for c in found.prevalence)
        chose.add_row(row.annotator, str(row.n), *shares)
        counts = (f"{row.against[c]} of {row.with_majority[c]}" for c in found.prevalence)
        against.add_row(row.annotator, *counts)
    chose.print(out)
    against.print(out)
    for note in found.notes:
        out.print(note)


def numbers(estimate: Estimate | None) -> tuple[str, str]:
    """0.140 and 0.105–0.173; a dash if there is no number."""
    if estimate is None:
        return "–", ""
    return risk(estimate.value), between(estimate.low, estimate.high)


def _write(given: Ratings, kept: tuple[str, ...], *, out: Path, dataset: Path | None) -> None:
    import pandas as pd

    from clinometer.reliability.benchmarks import need_columns, read_rows

    rows = given.rows
    if dataset is not None:
        table = read_rows(dataset)
        need_columns(dataset, table, ("id",))
        rows = {str(row["id"]).strip(): row for row in table}
        missing = [item for item in kept if item not in rows]
        if missing:
            raise TableError(f"{dataset}: expected a row with the id {missing[0]!r}, found none")
    columns = list(next(iter(rows.values())))
    write_frame(pd.DataFrame([rows[item] for item in kept], columns=columns), out)


# --- clinometer reliability validate: compare a score with human judgements ----------------------


def validate_command(
    ratings: RatingsArgument,
    scores: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES...",
            help="Folders of reliability score or audit, the first one on trial; or one table with "
            "id and a score.",
        ),
    ],
    column: Annotated[str, opt("The column of a table to validate.")] = "cobias",
    random: Annotated[
        bool,
        opt(
            "Score every run again with random words for context, the baseline to beat.",
            "--random-words/--no-random-words",
        ),
    ] = True,
    out: Annotated[
        Path | None,
        opt("Write a passed truth test to a file, for --validation of score and audit."),
    ] = None,
    annotators: ColumnsOption = None,
    replicates: REPLICATES = AuditSettings.replicates,
    level: LEVEL = AuditSettings.level,
    seed: SEED = AuditSettings.seed,
    json_output: JSON = False,
) -> None:
    """Does a score agree with human judgements? The truth test of runs, or of any table of scores.

    Runs: rank correlation with the mean rating, also with length held fixed, beside what is cheap
    (length, the bare statement's tau, random words). A table: rank correlation and regressions.
    """
    from clinometer.reliability.people import read_ratings, validate

    given = read_ratings(ratings, columns=annotators)
    if any(path.is_dir() for path in scores):
        _truth(
            given,
            scores,
            random=random,
            out=out,
            json_output=json_output,
            replicates=replicates,
            level=level,
            seed=seed,
        )
        return
    if len(scores) > 1 or out is not None:
        raise SettingsError("SCORES: expected one table, or folders of runs (for --out too)")
    values, texts = _read_scores(scores[0], column)
    found = validate(
        given, values, texts=texts, score=column, replicates=replicates, level=level, seed=seed
    )
    if json_output:
        print_json(found.to_dict())
    else:
        _print(found)


def _truth(
    ratings: Ratings,
    folders: Sequence[Path],
    *,
    random: bool,
    out: Path | None,
    json_output: bool,
    **options: Any,
) -> None:
    """Hold the runs in the folders against the ratings, and print the table."""
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.people.truth import random_control, truth_test
    from clinometer.reliability.validation_status import write_validation

    runs = {str(path): ReliabilityRun.load(path) for path in folders}
    controls = {}
    if random:
        with progress("random words", unit="texts", start="loading models") as watch:
            for name, run in runs.items():
                controls[name] = random_control(run, seed=options["seed"], progress=watch)
    found = truth_test(ratings, runs, controls=controls, **options)
    first = next(iter(runs.values()))
    if out is not None and found.passed:
        row = found.rows[0]
        passed = {"rho": row.rho, "given_length": row.given_length}
        write_validation(first.record, out, statements=found.statements, **passed)
    if json_output:
        print_json({"summary": found.to_dict()})
    else:
        _print_truth(found)
        if out is not None and found.passed:
            console().print(f"Wrote {out}: pass it to score or audit as --validation.")
    if out is not None and not found.passed:
        say(f"{out} was not written: the first run did not pass")


def _print_truth(found: TruthTest) -> None:
    table = TerminalTable(
        f"COBIAS and the mean rating of {found.annotators} people, {found.statements} statements"
    )
    table.add_text("").add_numbers("rho", "interval", "given length", "interval", "first ahead by")
    for row in found.rows:
        table.add_row(row.name, *_cells(row.rho), *_cells(row.given_length), _ahead(row.ahead))
    table.print(console())
    for note in found.notes:
        console().print(note, soft_wrap=True)


def _cells(one: Estimate | None) -> tuple[str, str]:
    if one is None:
        return "–", ""
    ends = "" if one.low is None or one.high is None else f"{one.low:+.2f} to {one.high:+.2f}"
    return f"{one.value:+.3f}", ends


def _ahead(one: Estimate | None) -> str:
    if one is None:
        return ""
    value, ends = _cells(one)
    return f"{value} ({ends})" if ends else value


def _read_scores(path: Path, column: str) -> tuple[dict[str, float], dict[str, str]]:
    from clinometer.reliability.benchmarks import need_columns, read_rows

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
