"""clinometer reliability validate: do annotators agree, and does a score agree with them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from clinometer import settings as ranges
from clinometer.cli.options import JSON, argument, set_option, set_settings
from clinometer.cli.printing import print_json, print_rows, print_table, say, sentence
from clinometer.cli.progress import progress
from clinometer.display.numbers import between, p_value, risk, show
from clinometer.errors import SettingsError, TableError
from clinometer.reliability import ReliabilityRun
from clinometer.settings import option
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.storage.frames import rows_by_id, write_frame
from clinometer.tables import Table

if TYPE_CHECKING:
    from clinometer.reliability.agreement import Agreement
    from clinometer.reliability.ratings import Ratings
    from clinometer.reliability.regression import LogisticRegression
    from clinometer.reliability.statement_scores import StatementScores
    from clinometer.reliability.validation import Validation

_PAIRS = 10
"""Pairs of annotators whose kappa is printed."""


@dataclass(frozen=True, kw_only=True)
class ValidateSettings:
    """When an item is accepted, and the statistics."""

    accept: str | None = option(
        None, help="Judgements that accept an item, separated by commas.", unset="yes"
    )
    share: str = option("2/3", help="Share of judgements that must accept an item.")
    judgements: int = option(
        2,
        help="Minimum number of judgements for an item to be accepted.",
        allowed=ranges.COUNT,
    )
    level: float = option(
        0.95, help="Confidence level of the intervals.", allowed=ranges.LEVEL
    )
    seed: int = option(0, help="Random seed.", allowed=ranges.SEED)


KEYS = tuple(setting.name for setting in fields(ValidateSettings))
"""What --set may change."""


def validate_command(
    ratings: Path = argument(
        "RATINGS",
        "Judgements: id and one column per annotator, or id, annotator, value.",
    ),
    scores: list[Path] | None = argument(
        "SCORES...",
        "Folders of reliability audit, the first one on trial; or one table with id and a score. "
        "Without any: do the annotators agree?",
        None,
    ),
    column: str = option("cobias", help="The column of a table to validate."),
    random: bool = option(
        True,
        "--random-words/--no-random-words",
        help="Score every run again with random words for context, the baseline to beat.",
    ),
    high: str | None = option(
        None,
        help="What a high judgement (y of n and y) says: enough context, or missing.",
        unset="as the ratings say",
    ),
    out: Path | None = option(
        None,
        help="Without SCORES: draw who differs from the majority (Figure 4), as .svg or .png.",
    ),
    annotators: list[str] | None = option(
        None,
        "--annotator",
        help="A column of judgements; may be repeated.",
        unset="annotator…, rater…",
    ),
    accepted: Path | None = option(
        None,
        help="Without SCORES: write the accepted items to a .csv or .parquet file.",
    ),
    dataset: Path | None = option(
        None,
        help="The table that was judged, by id: --accepted takes its rows, a table of SCORES its "
        "sentences.",
    ),
    stratified: bool = option(
        False,
        help="Without SCORES: measure agreement on a sample with as many items of each majority.",
        advanced=True,
    ),
    values: list[str] | None = set_option(ValidateSettings, *KEYS),
    json_output: bool = JSON,
) -> None:
    """Do the annotators agree, and does a score agree with them? The truth test of runs.

    Without SCORES: percent agreement, kappa and alpha with intervals, outlying annotators, and the
    items that enough of them accept. With SCORES: rank correlation with the judgements, also with
    length held fixed, next to what is cheap (length; of runs the bare statement's tau and random
    words), and the paper's regression. Read the first sentence. One column of consensus labels
    will do. Empty cells, "skip" and "na" are not judgements.
    """
    from clinometer.reliability.agreement import agreement
    from clinometer.reliability.ratings import read_ratings
    from clinometer.reliability.validation import validate

    judged = read_ratings(ratings, columns=annotators)
    settings = set_settings(ValidateSettings(), values, KEYS)
    level = settings.level
    seed = settings.seed
    if scores:
        if accepted or stratified or out:
            raise SettingsError(
                "--accepted, --stratified, --out: expected without SCORES"
            )
        if any(path.is_dir() for path in scores):
            on_trial = _scores_of_runs(scores, random=random, seed=seed)
        elif len(scores) > 1:
            raise SettingsError("SCORES: expected one table, or folders of runs")
        else:
            on_trial = _scores_of_table(scores[0], column, dataset, judged)
        validation = validate(judged, on_trial, high=high, level=level, seed=seed)
        if json_output:
            print_json({"summary": validation.to_dict()})
        else:
            _print_validation(validation)
        return
    sample = judged.stratified(seed=seed) if stratified else judged
    result = agreement(sample, level=level, seed=seed)
    is_asked = settings.accept is not None or accepted is not None
    items = _accepted_items(judged, settings, is_asked=is_asked)
    if accepted is not None and items is not None:
        write_frame(_accepted_rows(judged, items.ids, dataset), accepted)
    elif dataset is not None:
        raise SettingsError("--dataset: expected --accepted with it")
    if json_output:
        content = result.to_dict()
        content["summary"]["accepted"] = None if items is None else len(items.ids)
        print_json(content)
    else:
        _print_agreement(result)
        if items is not None:
            where = "" if accepted is None else f", written to {accepted}"
            sentence(
                f"{len(items.ids)} of {len(judged.items)} items accepted ({items.rule}){where}"
            )
    if out is not None:
        from clinometer.report.agreement import write_disagreements

        for file in write_disagreements(result, out):
            say(f"Wrote {file}")


def _scores_of_runs(
    folders: Sequence[Path], *, random: bool, seed: int
) -> StatementScores:
    """Return the scores of runs; with `random` those of random words for context, too."""
    from clinometer.reliability.random_words import random_control
    from clinometer.reliability.statement_scores import StatementScores

    runs = {str(path): ReliabilityRun.load(path) for path in folders}
    controls = {}
    if random:
        with progress("random words", unit="texts", start="loading models") as watch:
            for name, run in runs.items():
                controls[name] = random_control(run, seed=seed, progress=watch)
    return StatementScores.of_runs(runs, controls)


def _scores_of_table(
    path: Path, column: str, dataset: Path | None, judged: Ratings
) -> StatementScores:
    """Return the scores of a table, with the sentences of the table that was judged."""
    from clinometer.reliability.ratings import texts_of
    from clinometer.reliability.statement_scores import StatementScores

    rows = rows_by_id(path, column)
    texts = texts_of(rows if dataset is None else rows_by_id(dataset))
    return StatementScores.of_table(
        {item: row[column] for item, row in rows.items()},
        texts | texts_of(judged.rows),
        name=column,
    )


@dataclass(frozen=True)
class AcceptedItems:
    """Items that enough judgements accept, and the rule by which they do."""

    ids: tuple[str, ...]
    rule: str


def _accepted_items(
    judged: Ratings, settings: ValidateSettings, *, is_asked: bool
) -> AcceptedItems | None:
    """Return the accepted items; None where nobody asked and no judgement can accept an item."""
    from clinometer.reliability.ratings import accepted, parse_share

    texts = (settings.accept or "yes").split(",")
    categories = tuple(text.strip().lower() for text in texts)
    share = parse_share(settings.share)
    if not is_asked and not set(categories) & set(judged.categories):
        return None
    ids = accepted(judged, categories, share=share, judgements=settings.judgements)
    return AcceptedItems(ids, f"{', '.join(categories)} by at least {share}")


def _accepted_rows(
    judged: Ratings, ids: Sequence[str], dataset: Path | None
) -> pd.DataFrame:
    """Return the rows of the accepted items: of the table that was judged, or of the judgements."""
    rows = judged.rows
    if dataset is not None:
        rows = rows_by_id(dataset)
        for item in ids:
            if item not in rows:
                raise TableError(
                    f"{dataset}: expected a row with the id {item!r}, found none"
                )
    columns = list(next(iter(rows.values())))
    return pd.DataFrame([rows[item] for item in ids], columns=columns)


def _print_agreement(result: Agreement) -> None:
    """Print the tables, and notes on how to read them."""
    _print_levels(result)
    _print_beyond_chance(result)
    categories = list(result.prevalence)
    choices = []
    differences = []
    for row in result.annotators:
        shares = [show(row.shares[category], "share") for category in categories]
        choices.append((row.annotator, row.n, *shares))
        against = [f"{row.against[c]} of {row.with_majority[c]}" for c in categories]
        differences.append((row.annotator, *against))
    print_rows("What they chose", ["annotator", "items", *categories], choices)
    title = "How often they differ from a majority, by its category"
    print_rows(title, ["annotator", *categories], differences)
    for note in result.notes:
        sentence(note)


def _print_levels(result: Agreement) -> None:
    """Print how many items have how large a majority, by its category."""
    shares = sorted({share for _, share, _ in result.levels})
    items_by_category: dict[str, dict[object, int]] = {}
    for category, share, items in result.levels:
        items_by_category.setdefault(category, {})[share] = items
    rows = []
    for category, items_of in items_by_category.items():
        counts = [items_of.get(share, 0) for share in shares]
        rows.append((category, *counts, sum(items_of.values())))
    headings = [show(float(share), "share") for share in shares]
    title = f"Agreement of {len(result.annotators)} annotators on {result.items} items"
    print_rows(title, ["majority", *headings, "items"], rows)


def _print_beyond_chance(result: Agreement) -> None:
    """Print agreement, kappa and alpha with their intervals."""
    rows = [
        ("agreement observed", *_value_and_interval(result.observed)),
        ("agreement by chance", f"{result.by_chance:.3f}", ""),
        ("Fleiss' kappa", *_value_and_interval(result.fleiss)),
        ("Krippendorff's alpha", *_value_and_interval(result.alpha)),
    ]
    for pair in result.cohen[:_PAIRS]:
        name = f"Cohen's kappa, {pair.a} and {pair.b}"
        rows.append((name, *_value_and_interval(pair.kappa)))
    print_rows("Beyond chance", ["statistic", "value", "interval"], rows)
    more = len(result.cohen) - _PAIRS
    if more > 0:
        sentence(f"{more} more pairs of annotators: --json has them")


def _value_and_interval(estimate: Estimate | None) -> tuple[str, str]:
    """Return 0.140 and 0.105–0.173; a dash if there is no number."""
    if estimate is None:
        return "–", ""
    return risk(estimate.value), between(estimate.low, estimate.high)


def _print_validation(result: Validation) -> None:
    """Print the result in a sentence, then the table, then what the paper measured."""
    headline, *findings = result.findings
    sentence(headline.text)
    frame = pd.DataFrame(
        {
            "score": row.name,
            **with_ends("rho", row.rho),
            **with_ends("given_length", row.given_length),
            **with_ends("ahead", row.ahead),
        }
        for row in result.rows
    )
    title = f"Rank correlation with the judgements on {result.statements} statements; higher: more "
    print_table(Table("validation", f"{title}reliable", frame))
    for finding in findings:
        sentence(finding.text)
    if result.right_order is not None:
        value, ends = _value_and_interval(result.right_order)
        sentence(
            f"Probability that a statement with enough context scores higher than one without: "
            f"{value} ({ends}); 0.5 is chance"
        )
    counts = ", ".join(f"{category}: {n}" for category, n in result.outcome.items())
    sentence(f"Items by median judgement: {counts}")
    if result.regression is not None:
        _print_regression(result.regression)
    if result.unmatched:
        sentence(
            f"{result.unmatched} ids have only a score or only a judgement and are left out"
        )


def _print_regression(fit: LogisticRegression) -> None:
    """Print the regression of the paper, and what is wrong with it."""
    sentence(
        f"Multinomial regression (4.4 of the paper): chi²({fit.df}) = {fit.chi2:.1f}, "
        f"p = {p_value(fit.p)}, McFadden's R² = {fit.mcfadden:.3f}"
    )
    for odds in fit.odds:
        ends = f"{_ratio(odds.low)} to {_ratio(odds.high)}"
        sentence(
            f"  odds of {odds.outcome} against {fit.base}: times {_ratio(odds.ratio)} ({ends}) "
            "per standard deviation of the score"
        )
    if fit.problem:
        sentence(f"Caution: {fit.problem}; do not use the numbers of the regression")


def _ratio(value: float) -> str:
    # A regression that cannot be fitted has ratios without end; the caution below it says so.
    return f"{value:.2f}" if 1e-4 < value < 1e4 else f"{value:.1e}"
