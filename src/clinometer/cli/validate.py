"""clinometer reliability validate: do annotators agree, and does a score agree with them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.options import set_option, set_settings
from clinometer.cli.printing import print_json, print_rows, say, sentence
from clinometer.cli.progress import progress
from clinometer.cli.reliability import write_frame
from clinometer.display.numbers import between, p_value, risk, show
from clinometer.errors import SettingsError, TableError
from clinometer.settings import option

if TYPE_CHECKING:
    from clinometer.measure import Estimate
    from clinometer.reliability.agreement import Agreement, Ratings
    from clinometer.reliability.validation import Validation


RatingsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS",
        help="Judgements: id and one column per annotator, or id, annotator, value.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ValidateSettings:
    """When an item is accepted, and the statistics."""

    accept: str | None = option(
        None, help="Judgements that accept an item, separated by commas.", unset="yes"
    )
    share: str = option("2/3", help="Share of judgements that must accept an item.")
    judgements: int = option(
        2, help="Minimum number of judgements for an item to be accepted.", allowed=ranges.COUNT
    )
    level: float = option(0.95, help="Confidence level of the intervals.", allowed=ranges.LEVEL)
    seed: int = option(0, help="Random seed.", allowed=ranges.SEED)


#: What --set may change.
KEYS = tuple(setting.name for setting in fields(ValidateSettings))


def validate_command(
    ratings: RatingsArgument,
    scores: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SCORES...",
            help="Folders of reliability audit, the first one on trial; or one table with "
            "id and a score. Without any: do the annotators agree?",
        ),
    ] = None,
    column: Annotated[str, opt("The column of a table to validate.")] = "cobias",
    random: Annotated[
        bool,
        opt(
            "Score every run again with random words for context, the baseline to beat.",
            "--random-words/--no-random-words",
        ),
    ] = True,
    high: Annotated[
        str | None,
        opt(
            "What a high judgement (y of n and y) says: enough context, or missing.",
            unset="as the ratings say",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        opt("Without SCORES: draw who differs from the majority (Figure 4), as .svg or .png."),
    ] = None,
    annotators: Annotated[
        list[str] | None,
        opt("A column of judgements; may be repeated.", "--annotator", unset="annotator…, rater…"),
    ] = None,
    accepted: Annotated[
        Path | None,
        opt("Without SCORES: write the accepted items to a .csv or .parquet file."),
    ] = None,
    dataset: Annotated[
        Path | None,
        opt(
            "The table that was judged, by id: --accepted takes its rows, a table of SCORES its "
            "sentences."
        ),
    ] = None,
    stratified: Annotated[
        bool,
        opt(
            "Without SCORES: measure agreement on a sample with as many items of each majority.",
            "--stratified",
            advanced=True,
        ),
    ] = False,
    values: Annotated[list[str] | None, set_option(ValidateSettings, *KEYS)] = None,
    json_output: JSON = False,
) -> None:
    """Do the annotators agree, and does a score agree with them? The truth test of runs.

    Without SCORES: percent agreement, kappa and alpha with intervals, outlying annotators, and the
    items that enough of them accept. With SCORES: rank correlation with the judgements, also with
    length held fixed, next to what is cheap (length; of runs the bare statement's tau and random
    words), and the paper's regression. Read the first sentence. One column of consensus labels
    will do. Empty cells, "skip" and "na" are not judgements.
    """
    from clinometer.reliability.agreement import read_ratings
    from clinometer.reliability.validation import StatementScores, validate

    judged = read_ratings(ratings, columns=annotators)
    settings = set_settings(ValidateSettings(), values, KEYS)
    statistics: dict[str, Any] = {"level": settings.level, "seed": settings.seed}
    if scores and (accepted or stratified or out):
        raise SettingsError("--accepted, --stratified, --out: expected without SCORES")
    if not scores:
        sample = judged.stratified(seed=settings.seed) if stratified else judged
        result = _agreement(judged, sample, settings, accepted, dataset, json_output, statistics)
        if out is not None:
            _draw_disagreements(result, out)
    elif any(path.is_dir() for path in scores):
        _truth(judged, scores, random, json_output, high=high, **statistics)
    elif len(scores) > 1:
        raise SettingsError("SCORES: expected one table, or folders of runs")
    else:
        by_id, texts = _read_scores(scores[0], column, dataset)
        table = StatementScores.of_table(by_id, {**texts, **judged.texts}, name=column)
        compared = validate(judged, table, high=high, **statistics)
        if json_output:
            print_json({"summary": compared.to_dict()})
        else:
            _print_validation(compared)


def _agreement(
    ratings: Ratings,
    sample: Ratings,
    settings: ValidateSettings,
    out: Path | None,
    dataset: Path | None,
    json_output: bool,
    statistics: dict[str, Any],
) -> Agreement:
    """Print the agreement on the sample; all items that are accepted are counted where that was
    asked for, or where a judgement can accept one."""
    from clinometer.reliability.agreement import accepted, agreement, parse_share

    categories = [a.strip().lower() for a in (settings.accept or "yes").split(",")]
    share = parse_share(settings.share)
    result = agreement(sample, **statistics)
    ids = None
    if settings.accept or out or set(categories) & set(ratings.categories):
        ids = accepted(ratings, categories, share=share, judgements=settings.judgements)
    if out is not None and ids is not None:
        _write_accepted(ratings, ids, out=out, dataset=dataset)
    elif dataset is not None:
        raise SettingsError("--dataset: expected --accepted with it")
    if json_output:
        content = result.to_dict()
        content["summary"]["accepted"] = None if ids is None else len(ids)
        print_json(content)
        return result
    _print_agreement(result)
    if ids is not None:
        where = "" if out is None else f", written to {out}"
        sentence(
            f"{len(ids)} of {len(ratings.items)} items accepted ({', '.join(categories)} by "
            f"at least {share}){where}"
        )
    return result


def _draw_disagreements(result: Agreement, out: Path) -> None:
    """Figure 4 of the paper."""
    import pandas as pd

    from clinometer.display.table import Table
    from clinometer.report import charts
    from clinometer.report.export import write_as
    from clinometer.report.figure import chart

    frame = pd.DataFrame(
        [
            {"annotator": row.annotator, "majority": category, "disagreements": n}
            for row in result.annotators
            for category, n in row.against.items()
        ]
    )
    figure = chart(
        "disagreements",
        "How often an annotator differs from the majority",
        "Items by their majority.",
        frame,
        "{annotator}, {majority}: {disagreements}",
        charts.disagreements,
    )
    table = Table("disagreements", figure.title, frame)
    if out.suffix not in (".svg", ".png"):
        raise SettingsError(f"--out: expected a name that ends in .svg or .png, found {out}")
    for file in write_as(out, page=lambda: "", tables=lambda: [table], figures=lambda: [figure]):
        say(f"Wrote {file}")


def _write_accepted(
    ratings: Ratings, ids: tuple[str, ...], *, out: Path, dataset: Path | None
) -> None:
    import pandas as pd

    from clinometer.storage.rows import need_columns, read_rows

    rows = ratings.rows
    if dataset is not None:
        table = list(read_rows(dataset))
        need_columns(dataset, table, ("id",))
        rows = {str(row["id"]).strip(): row for row in table}
        missing = [item for item in ids if item not in rows]
        if missing:
            raise TableError(f"{dataset}: expected a row with the id {missing[0]!r}, found none")
    columns = list(next(iter(rows.values())))
    write_frame(pd.DataFrame([rows[item] for item in ids], columns=columns), out)


def _print_agreement(result: Agreement) -> None:
    """The tables, and notes on how to read them."""
    steps = sorted({s for _, s, _ in result.levels})
    rows = []
    for category in dict.fromkeys(c for c, _, _ in result.levels):
        at = {s: n for c, s, n in result.levels if c == category}
        rows.append((category, *(at.get(s, 0) for s in steps), sum(at.values())))
    title = f"Agreement of {len(result.annotators)} annotators on {result.items} items"
    print_rows(title, ["majority", *(f"{float(s):.2%}" for s in steps), "items"], rows)
    beyond = {
        "agreement observed": _numbers(result.observed),
        "agreement by chance": (f"{result.by_chance:.3f}", ""),
        "Fleiss' kappa": _numbers(result.fleiss),
        "Krippendorff's alpha": _numbers(result.alpha),
        **{
            f"Cohen's kappa, {pair.a} and {pair.b}": _numbers(pair.kappa)
            for pair in result.cohen[:10]
        },
    }
    headings = ["statistic", "value", "interval"]
    print_rows("Beyond chance", headings, [(name, *ends) for name, ends in beyond.items()])
    if len(result.cohen) > 10:
        sentence(f"{len(result.cohen) - 10} more pairs of annotators: --json has them")
    categories = list(result.prevalence)
    chose = [
        (row.annotator, row.n, *(show(row.shares[c], "share") for c in categories))
        for row in result.annotators
    ]
    print_rows("What they chose", ["annotator", "items", *categories], chose)
    against = [
        (row.annotator, *(f"{row.against[c]} of {row.with_majority[c]}" for c in categories))
        for row in result.annotators
    ]
    title = "How often they differ from a majority, by its category"
    print_rows(title, ["annotator", *categories], against)
    for note in result.notes:
        sentence(note)


def _numbers(estimate: Estimate | None) -> tuple[str, str]:
    """0.140 and 0.105–0.173; a dash if there is no number."""
    if estimate is None:
        return "–", ""
    return risk(estimate.value), between(estimate.low, estimate.high)


def _truth(
    ratings: Ratings,
    folders: Sequence[Path],
    random: bool,
    json_output: bool,
    **options: Any,
) -> None:
    """Compare the runs in the folders with the ratings, and print the table."""
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.validation import StatementScores, random_control, validate

    runs = {str(path): ReliabilityRun.load(path) for path in folders}
    controls = {}
    if random:
        with progress("random words", unit="texts", start="loading models") as watch:
            for name, run in runs.items():
                controls[name] = random_control(run, seed=options["seed"], progress=watch)
    result = validate(ratings, StatementScores.of_runs(runs, controls), **options)
    if json_output:
        print_json({"summary": result.to_dict()})
    else:
        _print_validation(result)


def _print_validation(result: Validation) -> None:
    """The result in a sentence, then the table, then what the paper measured."""
    first, *others = result.findings
    sentence(first.text)
    print_rows(
        f"Rank correlation with the judgements on {result.statements} statements; higher: more "
        "reliable",
        ["", "rho", "interval", "given length", "interval", "first ahead by"],
        [
            (row.name, *_cells(row.rho), *_cells(row.given_length), _ahead(row.ahead))
            for row in result.rows
        ],
    )
    for finding in others:
        sentence(finding.text)
    if result.right_order is not None:
        value, ends = _numbers(result.right_order)
        sentence(
            f"Probability that a statement with enough context scores higher than one without: "
            f"{value} ({ends}); 0.5 is chance"
        )
    counts = ", ".join(f"{c}: {n}" for c, n in result.outcome.items())
    sentence(f"Items by median judgement: {counts}")
    fit = result.regression
    if fit is not None:
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
    if result.unmatched:
        sentence(f"{result.unmatched} ids have only a score or only a judgement and are left out")


def _cells(rho: Estimate | None) -> tuple[str, str]:
    """A correlation and the ends of its interval, with their signs."""
    if rho is None:
        return "–", ""
    low, high = (show(end, "signed points") for end in (rho.low, rho.high))
    return show(rho.value, "signed"), "" if rho.low is None else f"{low} to {high}"


def _ahead(difference: Estimate | None) -> str:
    value, ends = ("", "") if difference is None else _cells(difference)
    return f"{value} ({ends})" if ends else value


def _read_scores(
    path: Path, column: str, dataset: Path | None
) -> tuple[dict[str, float], dict[str, str]]:
    """Scores by id, and sentences by id: those of the table itself, or of the dataset."""
    from clinometer.storage.rows import need_columns, need_unique_ids, read_rows

    rows = list(read_rows(path))
    need_columns(path, rows, ("id", column))
    ids = [str(row["id"]).strip() for row in rows]
    need_unique_ids(path, ids)
    values: dict[str, float] = {}
    for number, (item, row) in enumerate(zip(ids, rows, strict=True), start=2):
        try:
            values[item] = float(row[column])
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{path}: row {number}: expected a number in {column!r}, found {row[column]!r}"
            ) from error
    sentences = rows if dataset is None else list(read_rows(dataset))
    if dataset is not None:
        need_columns(dataset, sentences, ("id",))
    texts = {str(r["id"]).strip(): r.get("sentence") or r.get("text") for r in sentences}
    return values, {item: str(text) for item, text in texts.items() if text}


def _ratio(value: float) -> str:
    # A regression that cannot be fitted has ratios without end; the caution below it says so.
    return f"{value:.2f}" if 1e-4 < value < 1e4 else f"{value:.1e}"
