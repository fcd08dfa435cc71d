"""clinometer reliability: scores of a benchmark's statements, what people say of them, and whether
the two agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clinometer import settings as ranges
from clinometer.cli.options import (
    JSON,
    argument,
    derived,
    port_option,
    set_option,
    set_settings,
)
from clinometer.cli.printing import print_json, print_rows, print_table, say, sentence
from clinometer.cli.progress import progress
from clinometer.display.numbers import between, counted, p_value, risk, show
from clinometer.display.text import plain_records
from clinometer.errors import SettingsError, TableError
from clinometer.models.providers import is_loopback
from clinometer.reliability import (
    ReliabilityRun,
    Statement,
    load_statements,
    read_variants,
)
from clinometer.reliability.audit import (
    POINTS,
    STATEMENTS,
    VERSIONS,
    BenchmarkAudit,
    BenchmarkSettings,
    audit_benchmark,
)
from clinometer.reliability.blanks import PAPER_TEMPERATURE
from clinometer.reliability.scoring import LARGE
from clinometer.reliability.variants import NO_FILLER, VariantSettings
from clinometer.settings import option
from clinometer.statistics.estimate import Estimate, with_ends
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import (
    Row,
    csv_text,
    need_columns,
    need_unique_ids,
    read_rows,
)
from clinometer.tables import Table

if TYPE_CHECKING:
    from clinometer.reliability.agreement import Agreement, Ratings
    from clinometer.reliability.validation import StatementScores, Validation
    from clinometer.web.annotation.store import Store


StatementsArgument = argument(
    "STATEMENTS...", "Benchmark files, or a csv or jsonl file with a column sentence."
)
ModelsOption = option(
    None,
    "--model",
    help="A scoring model; may be repeated. paper: the paper's three large models.",
    unset="pocket:bert",
)
LimitOption = option(
    None,
    "--limit",
    help="Sample at most this many statements.",
    allowed=ranges.COUNT,
    unset="use all",
)

#: Statements with the lowest COBIAS that are printed.
_SHOWN = 5
#: What is printed of the rows of a step.
_OF_STEPS = {
    STATEMENTS: ("id", "target_term", "sentence"),
    POINTS: ("id", "proposer", "context_points"),
    VERSIONS: ("id", "variants"),
}
#: What --set may change.
KEYS = (
    *("as_in_paper", "filler", "temperature"),
    *(
        "reading",
        "normalise",
        "dissimilarity",
        "max_dissimilarity",
        "level",
        "seed",
        "device",
    ),
)
_UNSET = (VariantSettings.filler, VariantSettings.temperature)


def audit_command(
    sources: list[str] = StatementsArgument,
    out: Path = option(help="Folder for every step's file and the report; resumed."),
    models: list[str] | None = ModelsOption,
    writer: str | None = option(
        None,
        help="A model that proposes blanks and writes versions (openai:URL#MODEL is recommended).",
        unset="rules and filler, offline",
    ),
    variants: Path | None = option(
        None,
        help="Versions with added context, of which --versions are used: jsonl {id, variants} or "
        "csv id, version.",
        unset="write them",
    ),
    format: str | None = option(
        None, "--format", help="Format of the benchmark.", unset="detected"
    ),
    limit: int | None = LimitOption,
    until: str | None = option(
        None,
        help="Stop after a step and show it: statements, points or versions.",
        unset="the report",
    ),
    examples: Path | None = option(
        None,
        help="Statements with context_points to show to the writer as examples.",
        advanced=True,
    ),
    n: int = derived(VariantSettings, "n"),
    values: list[str] | None = set_option(BenchmarkSettings, *KEYS),
    fresh: bool = option(False, help="Start over instead of resuming --out."),
    json_output: bool = JSON,
) -> None:
    """From a benchmark's files to a report: pairs, target terms, blanks, versions, scores, ranks.

    Every step leaves its file in --out, to look at or to edit. Rerun the same command to resume,
    and to redo what depends on an edited file: statements that have changed are scored again and
    shown before and after. Benchmarks contain offensive sentences.
    """
    from clinometer.report.reliability import write_reliability_report

    settings = set_settings(BenchmarkSettings(), values, KEYS)
    shown = () if examples is None else load_statements(examples)
    pairs = tuple((s.text, s.points) for s in shown if s.points)
    points = replace(settings.points, model=writer, examples=pairs)
    versions = replace(settings.variants, model=writer, n=n)
    if points.as_in_paper:
        if writer is None or (versions.filler, versions.temperature) != _UNSET:
            raise SettingsError(
                "as_in_paper: expected with --writer, without filler and temperature"
            )
        versions = replace(
            versions, as_in_paper=True, temperature=PAPER_TEMPERATURE, filler=NO_FILLER
        )
    scoring = replace(settings.scoring, versions=n)
    settings = replace(settings, points=points, variants=versions, scoring=scoring)
    statements = read_statements(sources, format=format, limit=limit, seed=points.seed)
    named = models or ["pocket:bert"]
    scoring_models = (
        m for name in named for m in (LARGE if name == "paper" else [name])
    )
    with progress("audit", unit="statements", start="reading", kept=out) as watch:
        audit = audit_benchmark(
            statements,
            out,
            models=list(dict.fromkeys(scoring_models)),
            variants=None if variants is None else read_variants(variants),
            until=until,
            settings=settings,
            fresh=fresh,
            stage=watch.stage,
        )
    if audit.run is None:
        _print_step(audit, json_output=json_output)
        return
    frames = {"scores": audit.run.statements}
    if len(audit.changes):
        frames["changes"] = audit.changes
    for name, frame in frames.items():
        write_frame(frame, out / f"{name}.csv")
    write_reliability_report(audit.run, out / "report.html")
    if json_output:
        record = audit.run.record.to_dict()
        names = ("models", "summary", "length", "agreement", "counts", "sureness")
        print_json(
            {name: record[name] for name in names}
            | {
                "findings": [f.to_dict() for f in audit.run.findings],
                "statements": plain_records(audit.run.statements),
                "steps": {name: step.counts for name, step in audit.steps.items()},
                "changes": plain_records(audit.changes),
            }
        )
    else:
        if len(audit.changes):
            _print_changes(audit.changes)
        _print_run(audit.run)
        edit = "edit the statements and rerun the command to see before and after"
        sentence(
            f"In {out}: every step's file, {', '.join(f'{name}.csv' for name in frames)}. "
            f"Next: open {out / 'report.html'}; {edit}"
        )
    if audit.run.summary["cobias"] is None:
        raise SettingsError(
            "COBIAS: expected at least one statement with a score, found none; see the counts, "
            "and compare the ids of statements and versions"
        )


def read_statements(
    sources: Sequence[str], *, format: str | None, limit: int | None, seed: int
) -> list[Statement]:
    """Statements of the sources, or a sample of them in order."""
    statements = load_statements(*sources, format=format)
    if limit is None or limit >= len(statements):
        return statements
    chosen = np.random.default_rng(seed).choice(
        len(statements), size=limit, replace=False
    )
    return [statements[i] for i in sorted(chosen.tolist())]


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as csv or parquet, depending on the file's suffix."""
    if path.suffix not in {".csv", ".parquet"}:
        raise TableError(f"{path}: expected a file name that ends in .csv or .parquet")
    with output_file(path) as beside:
        if path.suffix == ".csv":
            beside.write_text(csv_text(frame), encoding="utf-8")
        else:
            frame.to_parquet(beside, index=False)


def _print_run(run: ReliabilityRun) -> None:
    """The headline, the means, the lowest statements, and what a reader must know."""
    from clinometer.report.reliability import reliability_tables

    frame = run.statements
    headline, *others = run.findings
    sentence(headline.text)
    print_rows(
        f"{len(frame)} statements; higher COBIAS is more reliable",
        ["", "mean", "interval"],
        [
            (name, f"{mean.value:.3f}", between(mean.low, mean.high))
            for name, mean in run.summary.items()
            if mean is not None
        ],
    )
    lowest = frame[frame["cobias"].notna()].sort_values("cobias").head(_SHOWN)
    if len(lowest):
        columns = ["id", "cobias", "rank", "rank_length_adjusted", "text"]
        print_table(Table("lowest", "Lowest COBIAS", lowest[columns]))
    if len(lowest) and (
        "dissimilarity_pairwise" in frame or frame["source"].nunique() > 1
    ):
        print_table(reliability_tables(run)[0])
    for finding in others:
        sentence(finding.text)


def _print_changes(changes: pd.DataFrame) -> None:
    """The statements that were edited, before and after."""
    rows = []
    for row in changes.to_dict("records"):
        rows.append(("before", risk(row["cobias_before"]), row["before"], ""))
        rows.append(("after", risk(row["cobias_after"]), row["after"], row["change"]))
    print_rows(
        f"{counted(len(changes), 'statement')} changed since the last audit",
        ["", "COBIAS", "statement", "change"],
        rows,
        words=("", "statement", "change"),
    )


def _print_step(audit: BenchmarkAudit, *, json_output: bool) -> None:
    """The first rows of the last step that was made, and its counts."""
    name, step = list(audit.steps.items())[-1]
    if json_output:
        print_json({"summary": step.counts, "statements": step.rows})
        return
    columns = _OF_STEPS[name]
    rows = [
        ["\n".join(row[c][:3]) if isinstance(row[c], list) else row[c] for c in columns]
        for row in step.rows[:10]
    ]
    headings = [column.replace("_", " ") for column in columns]
    print_rows(counted(len(step.rows), "statement"), headings, rows, words=headings)
    flat = pd.json_normalize(step.counts, sep=" ").iloc[0]
    for place, count in flat.dropna().items():
        sentence(
            f"{str(place).replace('_', ' ')}: {show(count, 'risk' if count % 1 else 'count')}"
        )


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


#: What --set of `validate` may change.
VALIDATE_KEYS = tuple(setting.name for setting in fields(ValidateSettings))


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
    values: list[str] | None = set_option(ValidateSettings, *VALIDATE_KEYS),
    json_output: bool = JSON,
) -> None:
    """Do the annotators agree, and does a score agree with them? The truth test of runs.

    Without SCORES: percent agreement, kappa and alpha with intervals, outlying annotators, and the
    items that enough of them accept. With SCORES: rank correlation with the judgements, also with
    length held fixed, next to what is cheap (length; of runs the bare statement's tau and random
    words), and the paper's regression. Read the first sentence. One column of consensus labels
    will do. Empty cells, "skip" and "na" are not judgements.
    """
    from clinometer.reliability.agreement import accepted as accepted_items
    from clinometer.reliability.agreement import (
        agreement,
        parse_share,
        read_ratings,
        texts_of,
    )
    from clinometer.reliability.validation import StatementScores, validate

    judged = read_ratings(ratings, columns=annotators)
    settings = set_settings(ValidateSettings(), values, VALIDATE_KEYS)
    how: dict[str, Any] = {"level": settings.level, "seed": settings.seed}
    if scores and (accepted or stratified or out):
        raise SettingsError("--accepted, --stratified, --out: expected without SCORES")
    if scores:
        if any(path.is_dir() for path in scores):
            held = _scores_of_runs(scores, random=random, seed=settings.seed)
        elif len(scores) > 1:
            raise SettingsError("SCORES: expected one table, or folders of runs")
        else:
            table = _rows_by_id(scores[0], column)
            texts = texts_of(table if dataset is None else _rows_by_id(dataset))
            by_id = {item: row[column] for item, row in table.items()}
            held = StatementScores.of_table(
                by_id, texts | texts_of(judged.rows), name=column
            )
        compared = validate(judged, held, high=high, **how)
        if json_output:
            print_json({"summary": compared.to_dict()})
        else:
            _print_validation(compared)
        return
    result = agreement(
        judged.stratified(seed=settings.seed) if stratified else judged, **how
    )
    categories = tuple(a.strip().lower() for a in (settings.accept or "yes").split(","))
    share = parse_share(settings.share)
    ids = None
    # Counted where it was asked for, or where a judgement can accept an item.
    asked = settings.accept is not None or accepted is not None
    if asked or set(categories) & set(judged.categories):
        ids = accepted_items(
            judged, categories, share=share, judgements=settings.judgements
        )
    if accepted is not None and ids is not None:
        _write_accepted(judged, ids, out=accepted, dataset=dataset)
    elif dataset is not None:
        raise SettingsError("--dataset: expected --accepted with it")
    if json_output:
        content = result.to_dict()
        content["summary"]["accepted"] = None if ids is None else len(ids)
        print_json(content)
    else:
        _print_agreement(result)
        if ids is not None:
            where = "" if accepted is None else f", written to {accepted}"
            sentence(
                f"{len(ids)} of {len(judged.items)} items accepted ({', '.join(categories)} "
                f"by at least {share}){where}"
            )
    if out is not None:
        _draw_disagreements(result, out)


def _draw_disagreements(result: Agreement, out: Path) -> None:
    """Figure 4 of the paper."""
    from clinometer.report import charts
    from clinometer.report.export import write_as
    from clinometer.report.figure import chart

    frame = pd.DataFrame(
        {"annotator": row.annotator, "majority": category, "disagreements": n}
        for row in result.annotators
        for category, n in row.against.items()
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
        raise SettingsError(
            f"--out: expected a name that ends in .svg or .png, found {out}"
        )
    for file in write_as(
        out, page=lambda: "", tables=lambda: [table], figures=lambda: [figure]
    ):
        say(f"Wrote {file}")


def _write_accepted(
    ratings: Ratings, ids: tuple[str, ...], *, out: Path, dataset: Path | None
) -> None:
    rows = ratings.rows
    if dataset is not None:
        rows = _rows_by_id(dataset)
        missing = [item for item in ids if item not in rows]
        if missing:
            raise TableError(
                f"{dataset}: expected a row with the id {missing[0]!r}, found none"
            )
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
    print_rows(
        title, ["majority", *(show(float(s), "share") for s in steps), "items"], rows
    )
    beyond = [
        ("agreement observed", *_numbers(result.observed)),
        ("agreement by chance", f"{result.by_chance:.3f}", ""),
        ("Fleiss' kappa", *_numbers(result.fleiss)),
        ("Krippendorff's alpha", *_numbers(result.alpha)),
        *(
            (f"Cohen's kappa, {pair.a} and {pair.b}", *_numbers(pair.kappa))
            for pair in result.cohen[:10]
        ),
    ]
    print_rows("Beyond chance", ["statistic", "value", "interval"], beyond)
    if len(result.cohen) > 10:
        sentence(f"{len(result.cohen) - 10} more pairs of annotators: --json has them")
    categories = list(result.prevalence)
    chose = [
        (row.annotator, row.n, *(show(row.shares[c], "share") for c in categories))
        for row in result.annotators
    ]
    print_rows("What they chose", ["annotator", "items", *categories], chose)
    against = [
        (
            row.annotator,
            *(f"{row.against[c]} of {row.with_majority[c]}" for c in categories),
        )
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


def _scores_of_runs(
    folders: Sequence[Path], *, random: bool, seed: int
) -> StatementScores:
    """The scores of runs; with `random` those of random words for context, too."""
    from clinometer.reliability.validation import StatementScores, random_control

    runs = {str(path): ReliabilityRun.load(path) for path in folders}
    controls = {}
    if random:
        with progress("random words", unit="texts", start="loading models") as watch:
            for name, run in runs.items():
                controls[name] = random_control(run, seed=seed, progress=watch)
    return StatementScores.of_runs(runs, controls)


def _print_validation(result: Validation) -> None:
    """The result in a sentence, then the table, then what the paper measured."""
    first, *others = result.findings
    sentence(first.text)
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
            sentence(
                f"Caution: {fit.problem}; do not use the numbers of the regression"
            )
    if result.unmatched:
        sentence(
            f"{result.unmatched} ids have only a score or only a judgement and are left out"
        )


def _rows_by_id(path: Path, *columns: str) -> dict[str, Row]:
    """The rows of a table that has an id and these columns."""
    rows = list(read_rows(path))
    need_columns(path, rows, ("id", *columns))
    ids = [str(row["id"]).strip() for row in rows]
    need_unique_ids(path, ids)
    return dict(zip(ids, rows, strict=True))


def _ratio(value: float) -> str:
    # A regression that cannot be fitted has ratios without end; the caution below it says so.
    return f"{value:.2f}" if 1e-4 < value < 1e4 else f"{value:.1e}"


def annotate_command(
    dataset: Path = argument(
        "DATASET", "The table to annotate (csv, tsv, jsonl, parquet)."
    ),
    mode: str | None = option(
        None,
        help="blanks: accept or reject blanks in context_points; rating: rate sentence 1 to 5; "
        "category: say which of --categories a reply is.",
        unset="blanks, or rating where there are none",
    ),
    categories: str | None = option(
        None, help="With --mode category: their names, as in yes,no; other is added."
    ),
    annotators: int = option(
        3, help="Minimum number of personal links.", allowed=ranges.COUNT
    ),
    database: Path | None = option(
        None, help="The SQLite file of the judgements.", unset="a file beside DATASET"
    ),
    column: str | None = option(
        None, help="The column to show.", unset="the mode's own"
    ),
    guidelines: Path | None = option(
        None, help="A Markdown file with guidelines.", unset="built-in ones"
    ),
    export: Path | None = option(
        None, help="Write the judgements to this .csv file and exit."
    ),
    long: bool = option(False, help="Export one row per judgement, with comments."),
    status: bool = option(False, help="Print each annotator's progress and exit."),
    port: int = port_option(8766),
    host: str = option("127.0.0.1", help="Address to listen on."),
    public: str | None = option(
        None, help="The public address if the server is behind a proxy: https://…."
    ),
    json_output: bool = option(
        False, "--json", help="With --status or --export: print one JSON object."
    ),
) -> None:
    """Let several people judge statements in a browser, each with a personal link.

    Every answer is stored before the next item is shown; rerun the same command to resume. Names
    are never collected. Sentences in bias benchmarks are offensive: annotators are warned and can
    stop at any time.
    """
    from clinometer.web.annotation.pages import annotation, read_guidelines
    from clinometer.web.annotation.store import Store, export_table, read_task
    from clinometer.web.app import serve

    if public is not None and not public.startswith(("http://", "https://")):
        raise SettingsError(
            f"--public: expected an address with http:// or https://: {public!r}"
        )
    if str(database).partition("/")[0].endswith(":"):  # it may hold a password
        raise SettingsError("--database: expected a SQLite file, found an address")
    named = (
        []
        if categories is None
        else [c.strip() for c in categories.split(",") if c.strip()]
    )
    asked = read_task(dataset, mode=mode, column=column, categories=named)
    if mode is None and asked.mode == "rating":
        say(
            f"{dataset} has no blanks, so people rate its sentences; 'clinometer reliability audit "
            "--until points' proposes blanks"
        )
    text = read_guidelines(asked.mode, guidelines)
    beside = Path(f"{dataset.with_suffix('')}.{asked.mode}.sqlite")
    store = Store(database or beside, asked)
    try:
        if export is not None:
            write_frame(export_table(store, long=long), export)
        if export is not None or status:
            _report(store, json_output, export)
            return
        people = store.annotators(at_least=annotators)
        secure = public is not None and public.startswith("https://")
        app = annotation(store, guidelines=text, host=host, secure=secure)

        def ready(address: str) -> None:
            base = (public or address).rstrip("/")
            sentence(f"{len(asked.items)} items, one link for each person:")
            for person in people:
                far = f"({store.standing(person).done} of {len(asked.items)})"
                link = f"{base}/?token={person.token}"
                sentence(f"annotator {person.number}: {link}  {far}")
            if not is_loopback(host) and not secure:
                sentence(
                    "Links and answers travel unencrypted; a proxy with TLS and --public help."
                )
            sentence("Ctrl+C stops it; rerun the same command to resume.")

        serve(app, host=host, port=port, ready=ready)
    finally:
        store.close()


def _report(store: Store, json_output: bool, export: Path | None) -> None:
    """Each annotator's progress; numbers, not names."""
    from clinometer.web.annotation.store import SKIP

    total, count = len(store.task.items), len(store.judgements())
    rows = [
        {
            "annotator": person.number,
            "state": person.state,
            "answers": len(given),
            "skipped": sum(one.value == SKIP for one in given),
            "items": total,
        }
        for person in store.annotators()
        for given in [store.answers(person)]
    ]
    if json_output:
        summary = {"mode": store.task.mode, "items": total}
        shown = {
            **summary,
            "judgements": count,
            "export": None if export is None else str(export),
        }
        print_json({"summary": shown, "annotators": rows})
        return
    for row in rows:
        sentence(
            f"annotator {row['annotator']}: {row['answers']} of {total}, {row['skipped']} skipped, "
            f"{row['state']}"
        )
    where = "" if export is None else f" written to {export}"
    sentence(f"{count} judgements{where}")
