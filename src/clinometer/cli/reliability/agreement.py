"""clinometer reliability agreement: do people agree, and what do they accept?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import LEVEL, REPLICATES, SEED
from clinometer.cli.printing import console, print_json
from clinometer.cli.reliability.common import write_frame
from clinometer.cli.table import TerminalTable
from clinometer.display.numbers import between, risk
from clinometer.errors import SettingsError, TableError
from clinometer.runs import AuditSettings

if TYPE_CHECKING:
    from clinometer.measure import Estimate
    from clinometer.reliability.people import Agreement, Ratings

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
    from clinometer.reliability.people.acceptance import parse_share

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

    from clinometer.reliability.benchmarks.files import need_columns, read_rows

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
