"""clinometer reliability audit: a benchmark from its files to a report, in one command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.limits import FAIL_BELOW_ON, below, fail
from clinometer.cli.options import DEVICE, LEVEL, SEED, derived, grouped
from clinometer.cli.printing import TerminalTable, console, print_json, say
from clinometer.cli.progress import Kept, progress
from clinometer.display.numbers import between
from clinometer.errors import SettingsError, TableError
from clinometer.models import LoadOptions
from clinometer.reliability import (
    ReliabilitySettings,
    load_statements,
    read_variants,
    score_reliability,
)
from clinometer.reliability.blank_contribution import blank_contributions
from clinometer.reliability.blanks import PointSettings, point_score, propose_points
from clinometer.reliability.run import reading_notes
from clinometer.reliability.validation_status import (
    read_validation,
    scoring_models,
    validation_status,
)
from clinometer.reliability.variants import VariantSettings, make_variants
from clinometer.storage.atomic import replacing
from clinometer.storage.spreadsheet import no_formula

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability import ReliabilityRun, Statement
    from clinometer.reliability.audit import BenchmarkAudit


# --- Options and output shared by the subcommands ------------------------------------------------


StatementsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="STATEMENTS...",
        help="Benchmark files, a csv or jsonl file with a column sentence, or hf:DATASET.",
    ),
]
VariantsOption = Annotated[
    Path,
    opt("Versions with added context: jsonl {id, variants} or csv id, version."),
]
ModelsOption = Annotated[
    list[str] | None,
    opt(
        "A scoring model; may be repeated. auto: the paper's large models if available, else small "
        "ones.",
        "--model",
        unset="pocket:bert",
    ),
]
FormatOption = Annotated[
    str | None,
    opt("Format of the benchmark.", "--format", unset="detected"),
]
ValidationOption = Annotated[
    Path | None,
    opt(
        "A passed truth test of these models and versions (validate --out).",
        "--validation",
        unset="the result is labelled not validated",
    ),
]
LimitOption = Annotated[
    int | None,
    opt("Sample at most this many statements.", "--limit", allowed=ranges.COUNT, unset="use all"),
]


def asked_models(given: list[str] | None) -> list[str]:
    """The scoring models that were named, or the default; a warning goes to stderr."""
    found, warning = scoring_models(given or ["pocket:bert"])
    if warning:
        say(warning)
    return found


def read_statements(
    sources: Sequence[str], *, format: str | None, limit: int | None, seed: int
) -> list[Statement]:
    """Statements of the sources, or a sample of them in order."""
    import numpy as np

    from clinometer.reliability import load_statements

    found = load_statements(*sources, format=format)
    if limit is None or limit >= len(found):
        return found
    chosen = np.random.default_rng(seed).choice(len(found), size=limit, replace=False)
    return [found[i] for i in sorted(chosen.tolist())]


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as csv or parquet, depending on the file's suffix."""
    if path.suffix not in {".csv", ".parquet"}:
        raise TableError(f"{path}: expected a file name that ends in .csv or .parquet")
    with replacing(path) as beside:
        if path.suffix == ".csv":
            frame.map(no_formula).to_csv(beside, index=False)
        else:
            frame.to_parquet(beside, index=False)


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows ready for JSON: a missing number is None."""
    rows = frame.astype(object).to_dict(orient="records")
    return [{str(k): None if v != v else v for k, v in row.items()} for row in rows]


def print_run(run: ReliabilityRun, *, top: int) -> None:
    """The means, the least stable statements, and what a reader must know."""
    frame = run.statements
    names = ", ".join(m.id for m in run.record.models)
    table = TerminalTable(f"{len(frame)} statements, {names}")
    table.add_text("").add_numbers("mean", "interval")
    for name, found in run.summary.items():
        if found is None:
            continue
        table.add_row(name, f"{found.value:.3f}", between(found.low, found.high))
    table.print(console())
    worst = frame[frame["stability"].notna()].sort_values("stability").head(top)
    if len(worst):
        rows = TerminalTable("Least stable").add_text("id").add_numbers("stability")
        rows.add_text("statement")
        row: Any
        for row in worst.itertuples():
            rows.add_row(row.id, f"{row.stability:.3f}", row.text)
        rows.print(console())
    for line in reading_notes(run.record):
        console().print(line, soft_wrap=True)


# --- clinometer reliability audit: a benchmark from its files to a report, in one command --------


def audit_command(
    sources: StatementsArgument,
    out: Annotated[Path, opt("Folder for every step's file and the report; resumed.")],
    models: ModelsOption = None,
    writer: Annotated[
        str | None,
        opt(
            "A model that proposes blanks and writes versions (openai:URL#MODEL is recommended).",
            unset="rules and filler, offline",
        ),
    ] = None,
    filler: Annotated[str | None, derived(VariantSettings, "filler")] = None,
    n: Annotated[int, derived(VariantSettings, "n")] = VariantSettings.n,
    variants: Annotated[
        Path | None, opt("Use these versions instead of writing new ones.", unset="write them")
    ] = None,
    validation: ValidationOption = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    fix: Annotated[
        int,
        opt("Look at the blanks of this many least stable statements.", allowed=ranges.COUNT_OR_0),
    ] = 10,
    level: LEVEL = ReliabilitySettings.level,
    precision: Annotated[float | None, derived(ReliabilitySettings, "precision")] = None,
    seed: SEED = 0,
    device: DEVICE = LoadOptions.device,
    top: Annotated[
        int, opt("Number of least stable statements to show.", allowed=ranges.COUNT_OR_0)
    ] = 5,
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    fail_below: Annotated[
        float | None,
        opt("Exit with status 1 if the mean stability is lower.", allowed=ranges.SHARE),
    ] = None,
    fail_on: FAIL_BELOW_ON = "high",
    json_output: JSON = False,
) -> None:
    """From a benchmark's files to a report: pairs, target terms, blanks, versions, scores, ranks.

    Every step leaves its file in --out, to look at or to edit. Rerun the same command to resume,
    and to redo what depends on an edited file. Benchmarks contain offensive sentences.
    """
    from clinometer.reliability import read_variants
    from clinometer.reliability.audit import BenchmarkSettings, audit_benchmark
    from clinometer.reliability.run import data_card
    from clinometer.report.export import write_files
    from clinometer.report.reliability import write_reliability_report

    load = LoadOptions(device=device)
    settings = BenchmarkSettings(
        points=PointSettings(model=writer, seed=seed, load=load),
        variants=VariantSettings(n=n, model=writer, filler=filler, seed=seed, load=load),
        scoring=ReliabilitySettings(
            versions=None, level=level, precision=precision, seed=seed, load=load
        ),
        fix=fix,
    )
    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    asked = asked_models(models)
    with progress("audit", unit="statements", start="reading", kept=Kept(out)) as watch:
        found = audit_benchmark(
            statements,
            out,
            models=asked,
            variants=None if variants is None else read_variants(variants),
            settings=settings,
            fresh=fresh,
            stage=watch.stage,
            validation=read_validation(validation),
        )
    write_frame(found.run.statements, out / "scores.csv")
    write_frame(found.fix, out / "fix.csv")
    weights = found.run.statements[["id", "source", "text", "stability"]]
    write_frame(weights.rename(columns={"stability": "weight"}), out / "weights.csv")
    write_files({out / "card.md": data_card(found.run).encode()})
    write_reliability_report([found.run], out / "report.html")
    if json_output:
        _print_json(found)
    else:
        print_run(found.run, top=top)
        _print_fix(found, out)
    summary = found.run.summary["stability"]
    if summary is None:
        raise SettingsError(
            "statements: expected one with a score, found none; check the counts above"
        )
    if fail_below is not None:
        fail(below("stability", summary, fail_below, fail_on))


def _print_json(found: BenchmarkAudit) -> None:
    content = found.run.record.to_dict()
    names = ("models", "summary", "length", "agreement", "counts", "sureness")
    print_json(
        {n: content[n] for n in names}
        | {
            "standing": validation_status(found.run.record).to_dict(),
            "steps": found.counts,
            "statements": plain_rows(found.run.statements),
            "fix": plain_rows(found.fix),
        }
    )


def _print_fix(found: BenchmarkAudit, out: Path) -> None:
    if len(found.fix):
        rows = TerminalTable("What to specify first").add_text("id", "question", "say it after")
        row: Any
        for row in found.fix.head(5).itertuples():
            rows.add_row(row.id, row.question, row.blank)
        rows.print(console())
    made = "statements.csv, points.jsonl, versions.jsonl, run/, scores.csv, fix.csv, weights.csv"
    console().print(f"In {out}: {made}, card.md. Next: open {out / 'report.html'}", soft_wrap=True)


# --- clinometer reliability score: tau, context variance, COBIAS and stability of statements -----


@grouped
def score_command(
    sources: StatementsArgument,
    variants: VariantsOption,
    models: ModelsOption = None,
    out: Annotated[Path | None, opt("Run folder; written as it goes, and resumed.")] = None,
    table: Annotated[
        Path | None, opt("Write one row per statement: a .csv or .parquet file.")
    ] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    validation: ValidationOption = None,
    *,
    settings: Annotated[
        ReliabilitySettings,
        "variant",
        "masking",
        "normalise",
        "special_tokens",
        "duplicates",
        "versions",
        "keep_changed",
        "replicates",
        "level",
        "precision",
        "seed",
        "device",
        "dtype",
    ],
    batch_tokens: Annotated[
        int | None, opt("Tokens per batch.", allowed=ranges.COUNT, panel="Model")
    ] = None,
    top: Annotated[
        int, opt("Number of least stable statements to show.", allowed=ranges.COUNT_OR_0)
    ] = 5,
    fresh: Annotated[
        bool, opt("Start over instead of resuming the run in --out.", "--fresh")
    ] = False,
    fail_below: Annotated[
        float | None,
        opt("Exit with status 1 if the mean stability is lower.", allowed=ranges.SHARE),
    ] = None,
    fail_on: FAIL_BELOW_ON = "high",
    json_output: JSON = False,
) -> None:
    """Score how much plausible context changes each statement.

    stability = 1 - COBIAS: 1 if context changes nothing. Rerun the same command to resume an
    interrupted run.
    """
    settings = replace(settings, load=replace(settings.load, batch_tokens=batch_tokens))
    statements = read_statements(sources, format=format, limit=limit, seed=settings.seed)
    asked = asked_models(models)
    loading = f"loading {', '.join(asked)}"
    with progress("scoring", unit="texts", start=loading, kept=Kept(out)) as watch:
        run = score_reliability(
            statements,
            read_variants(variants),
            models=asked,
            out=out,
            settings=settings,
            fresh=fresh,
            progress=watch,
            validation=read_validation(validation),
        )
    frame = run.statements
    if table is not None:
        write_frame(frame, table)
    if json_output:
        names = ("models", "settings", "summary", "length", "agreement", "counts", "sureness")
        content = run.record.to_dict()
        print_json(
            {n: content[n] for n in names}
            | {"standing": validation_status(run.record).to_dict(), "statements": plain_rows(frame)}
        )
    else:
        print_run(run, top=top)
        if run.path is not None:
            kept = f"Kept in {run.path}. Next: clinometer report {run.path} --out report.html"
            console().print(kept, soft_wrap=True)
    summary = run.summary["stability"]
    if summary is None:
        raise SettingsError("no statement has a score: see the counts, and the ids of --variants")
    if fail_below is not None:
        fail(below("stability", summary, fail_below, fail_on))


# --- clinometer reliability blanks: which context-addition point matters -------------------------


@grouped
def blanks_command(
    sources: StatementsArgument,
    variants: VariantsOption,
    models: ModelsOption = None,
    out: Annotated[Path | None, opt("Run folder; written as it goes, and resumed.")] = None,
    table: Annotated[Path | None, opt("Write one row per blank: a .csv or .parquet file.")] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: SEED = 0,
    *,
    settings: Annotated[ReliabilitySettings, "variant", "versions", "device"],
    top: Annotated[int, opt("Number of blanks to show.", allowed=ranges.COUNT_OR_0)] = 10,
    fresh: Annotated[
        bool, opt("Start over instead of resuming the run in --out.", "--fresh")
    ] = False,
    json_output: JSON = False,
) -> None:
    """Score each blank of a statement by itself: the context variance it adds, and its share.

    Statements need a column context_points with blanks (___).
    """
    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    asked = asked_models(models)
    loading = f"loading {', '.join(asked)}"
    with progress("scoring", unit="texts", start=loading, kept=Kept(out)) as watch:
        found = blank_contributions(
            statements,
            read_variants(variants),
            models=asked,
            settings=replace(settings, replicates=0),
            out=out,
            fresh=fresh,
            progress=watch,
        )
    if table is not None:
        write_frame(found.table, table)
    if json_output:
        print_json({"summary": found.counts, "blanks": plain_rows(found.table)})
        return
    rows = TerminalTable("Blanks that matter most").add_text("id")
    rows.add_numbers("blank", "cv", "share").add_text("after")
    row: Any
    for row in found.table.head(top).itertuples():
        share = f"{row.share:.0%}" if row.share == row.share and row.share is not None else "–"
        rows.add_row(row.id, row.blank, f"{row.cv:.2f}", share, f"{row.before} ___")
    rows.print(console())
    for name, n in found.counts.items():
        console().print(f"{name.replace('_', ' ')}: {n}")


# --- clinometer reliability pairs: a model's benchmark score when unreliable statements count
# less


def pairs_command(
    sources: StatementsArgument,
    run: Annotated[Path, opt("Run folder of clinometer reliability score on the same statements.")],
    model: Annotated[str, opt("The model to score.")] = "pocket:bert",
    metric: Annotated[
        str, opt("Score the shared words (CrowS-Pairs) or the differing words (StereoSet).")
    ] = "shared",
    leave_out: Annotated[
        list[float] | None,
        opt(
            "Leave out this share of the least stable pairs; may be repeated.",
            allowed=ranges.PART,
            unset="0.25 and 0.5",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        opt("Write one row per pair with its stability as a weight: a .csv or .parquet file."),
    ] = None,
    format: FormatOption = None,
    device: DEVICE = LoadOptions.device,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """The share of pairs in which a model prefers the stereotype, with and without unreliable ones.

    50 % means no preference. Statements that the run has not scored are left out.
    """
    import numpy as np
    import pandas as pd

    from clinometer.models import open_model
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.pair_scores import pair_scores, stereotype_preferred

    frame = ReliabilityRun.load(run).statements
    stability = dict(zip(frame["id"], frame["stability"], strict=True))
    statements = [
        s
        for s in read_statements(sources, format=format, limit=None, seed=0)
        if np.isfinite(stability.get(s.id, np.nan))
    ]
    scorer = open_model(model, load=LoadOptions(device=device))
    preferred = stereotype_preferred(scorer, statements, metric=metric)
    found = pair_scores(
        preferred,
        np.array([stability[s.id] for s in statements]),
        leave_out=leave_out or (0.25, 0.5),
        seed=seed,
    )
    if weights is not None:
        rows = [
            {
                "id": s.id,
                "sentence": s.text,
                "other": s.other,
                "weight": stability[s.id],
                "prefers_stereotype": None if np.isnan(p) else p,
            }
            for s, p in zip(statements, preferred.tolist(), strict=True)
        ]
        write_frame(pd.DataFrame(rows), weights)
    if json_output:
        print_json(
            {"model": model, "metric": metric, "summary": [score.to_dict() for score in found]}
        )
        return
    table = TerminalTable(
        f"{model}: percentage of pairs in which the stereotype is preferred ({metric} words)"
    )
    table.add_text("").add_numbers("pairs", "score", "interval", "change", "at random")
    for score in found:
        chance = score.by_chance
        change = "" if score.change is None else f"{score.change.value:+.1f}"
        if score.change is not None:
            change += f" ({score.change.low:+.1f} to {score.change.high:+.1f})"
        table.add_row(
            score.treatment,
            str(score.pairs),
            f"{score.score.value:.1f}",
            f"{score.score.low:.1f}–{score.score.high:.1f}",
            change,
            "" if chance is None else f"{chance.low:+.1f} to {chance.high:+.1f}",
        )
    table.print(console())


# --- clinometer reliability points: where context could be added ---------------------------------


@grouped
def points_command(
    sources: StatementsArgument,
    out: Annotated[
        Path | None, opt("A .jsonl file, one row per statement; written as it goes, and resumed.")
    ] = None,
    examples: Annotated[
        Path | None, opt("Statements with context_points to show to the model as examples.")
    ] = None,
    measure: Annotated[
        bool, opt("Compare with the statements' own context_points.", "--measure")
    ] = False,
    format: FormatOption = None,
    limit: LimitOption = None,
    *,
    settings: Annotated[
        PointSettings, "model", "attempts", "temperature", "seed", "parser", "device"
    ],
    top: Annotated[int, opt("Number of statements to show.", allowed=ranges.COUNT_OR_0)] = 10,
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    json_output: JSON = False,
) -> None:
    """Put blanks (___) into statements where context could be added.

    A model's answer is kept only if it adds nothing but blanks; otherwise the model is queried
    again, and finally the rules decide. Every row says which of the two proposed it.
    """
    settings = replace(settings, examples=_examples(examples))
    statements = read_statements(sources, format=format, limit=limit, seed=settings.seed)
    loading = f"loading {settings.model or settings.parser}"
    with progress("points", unit="statements", start=loading, kept=Kept(out)) as watch:
        found = propose_points(statements, settings=settings, out=out, fresh=fresh, progress=watch)
    summary = dict(found.counts)
    if measure:
        known = {i: s.points for i, s in enumerate(statements) if s.points}
        score = point_score(
            [found.rows[i]["context_points"] for i in known],
            list(known.values()),
            [statements[i].text for i in known],
        )
        summary["against_given_points"] = score.to_dict() if known else None
    if json_output:
        print_json({"summary": summary, "statements": found.rows})
        return
    table = TerminalTable(f"{len(statements)} statements").add_text("id", "by", "points")
    for row in found.rows[:top]:
        table.add_row(row["id"], row["proposer"], row["context_points"])
    table.print(console())
    _print_summary(summary)


def _examples(path: Path | None) -> tuple[tuple[str, str], ...]:
    if path is None:
        return ()
    return tuple((s.text, s.points) for s in load_statements(path) if s.points)


def _print_summary(summary: dict[str, object]) -> None:
    score = summary.pop("against_given_points", None)
    outcomes = summary.pop("answers_by_outcome")
    for name, value in summary.items():
        if value is not None:
            number = f"{value:.0%}" if isinstance(value, float) else str(value)
            console().print(f"{name.replace('_', ' ')}: {number}")
    if isinstance(outcomes, dict) and outcomes:
        said = ", ".join(f"{k.replace('_', ' ')} {n}" for k, n in outcomes.items())
        console().print(f"answers by outcome: {said}")
    if isinstance(score, dict):
        parts = ", ".join(f"{k} {score[k]:.3f}" for k in ("precision", "recall", "f1"))
        console().print(f"against the given points: {parts}")


# --- clinometer reliability statements: a benchmark as one plain table ---------------------------


def statements_command(
    sources: StatementsArgument,
    out: Annotated[Path | None, opt("Write the statements to a .csv or .parquet file.")] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """Read a benchmark: its statements, target terms and merged pairs.

    Reads CrowS-Pairs, StereoSet, WinoBias, Winogender, RedditBias, COBIAS and your own tables. You
    can edit the table it writes (target_term, context_points) and read it back. Benchmarks contain
    offensive sentences.
    """
    import pandas as pd

    from clinometer.reliability.benchmarks import statement_row

    found = read_statements(sources, format=format, limit=limit, seed=seed)
    categories = Counter(s.category or "–" for s in found)
    counts = {
        "statements": len(found),
        "pairs": sum(s.other is not None for s in found),
        "without_target": sum(not s.targets for s in found),
        "target_not_in_sentence": sum(not s.has_its_targets for s in found),
        "with_points": sum(s.points is not None for s in found),
    }
    if out is not None:
        write_frame(pd.DataFrame([statement_row(s) for s in found]), out)
    if json_output:
        print_json({"summary": counts, "categories": dict(categories)})
        return
    names = ", ".join(dict.fromkeys(s.source for s in found))
    table = TerminalTable(f"{names}: {len(found)} statements")
    table.add_text("").add_numbers("count")
    for name, n in [*counts.items(), *categories.most_common()]:
        table.add_row(name.replace("_", " "), n)
    table.print(console())
    if out is not None:
        console().print(f"written: {out}")


# --- clinometer reliability variants: the blanks filled in many plausible ways -------------------


@grouped
def variants_command(
    sources: StatementsArgument,
    out: Annotated[
        Path | None, opt("A .jsonl file for reliability score; written as it goes, and resumed.")
    ] = None,
    dissimilarity: Annotated[
        bool,
        opt(
            "Measure how far the versions differ in meaning (all-MiniLM-L6-v2).",
            "--dissimilarity/--no-dissimilarity",
        ),
    ] = True,
    format: FormatOption = None,
    limit: LimitOption = None,
    *,
    settings: Annotated[
        VariantSettings, "n", "model", "filler", "temperature", "rounds", "seed", "device"
    ],
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    json_output: JSON = False,
) -> None:
    """Write context-added versions of statements that have blanks (context_points).

    A version is kept only if the statement's words survive in order and every addition is at a
    blank. Rejected versions are counted by reason.
    """
    statements = read_statements(sources, format=format, limit=limit, seed=settings.seed)
    embed = None
    if dissimilarity:
        from clinometer.models.texts.embeddings import SentenceEncoder

        embed = SentenceEncoder(device=settings.load.device).embed
    with progress("versions", unit="statements", start="loading models", kept=Kept(out)) as watch:
        found = make_variants(
            statements, settings=settings, out=out, fresh=fresh, embed=embed, progress=watch
        )
    if json_output:
        print_json({"summary": found.counts, "statements": found.rows})
        return
    for row in found.rows[:3]:
        for version in row["variants"][:3]:
            console().print(f"{row['id']}: {version}", soft_wrap=True)
    _print_variants(found.counts)


def _print_variants(counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, dict):
            inner = [f"{k.replace('_', ' ')} {_said(v)}" for k, v in value.items() if v]
            value = "; ".join(inner) or None
        if value is not None:
            console().print(f"{name.replace('_', ' ')}: {_said(value)}")


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in value.items()) + ")"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


# --- clinometer reliability view: benchmarks side by side ----------------------------------------


NOT_COMPARABLE = (
    "Caution: these runs have different models or readings of the score; only rows of one run can "
    "be compared."
)


def view_command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders of clinometer reliability score."),
    ],
    dissimilarity: Annotated[
        bool, opt("Also measure how far context changes the meaning (Eq. 1).", "--dissimilarity")
    ] = False,
    sentence_model: Annotated[
        str, opt("The sentence-transformers model for --dissimilarity.")
    ] = "all-MiniLM-L6-v2",
    table: Annotated[
        Path | None, opt("Write one row per statement: a .csv or .parquet file.")
    ] = None,
    top: Annotated[
        int, opt("Number of worst and best statements to show.", allowed=ranges.COUNT_OR_0)
    ] = 3,
    json_output: JSON = False,
) -> None:
    """Table 2 of the paper for your runs: mean, interval, distribution, categories, worst, best."""
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.benchmark_table import (
        add_dissimilarity,
        benchmark_view,
        scored_alike,
        side_by_side,
    )

    loaded = [ReliabilityRun.load(path) for path in runs]
    if dissimilarity:
        from clinometer.models.texts.embeddings import SentenceEncoder

        encoder = SentenceEncoder(sentence_model)
        frame = side_by_side(loaded, [add_dissimilarity(run, encoder.embed) for run in loaded])
    else:
        frame = side_by_side(loaded)
    if table is not None:
        write_frame(frame, table)
    view = benchmark_view(frame, top=top)
    comparable = scored_alike(loaded)
    if json_output:
        found = view.to_dict()
        print_json({"summary": found["benchmarks"], **found, "comparable": comparable})
        return
    names = ["run", "source"] if "run" in frame else ["source"]
    _table("Benchmarks, the most stable first", view.benchmarks, names).print(console())
    if view.categories["category"].notna().any():
        _table("By category", view.categories, [*names, "category"]).print(console())
    for title, part in (("Least stable", view.worst), ("Most stable", view.best)):
        rows = TerminalTable(title).add_text(*names).add_numbers("stability").add_text("statement")
        for row in part.to_dict(orient="records"):
            rows.add_row(*(row[n] for n in names), f"{row['stability']:.3f}", row["text"])
        rows.print(console())
    if not comparable:
        console().print(NOT_COMPARABLE, soft_wrap=True)


def _table(title: str, frame: Any, names: list[str]) -> TerminalTable:
    numbers = ["stability", "cobias", "cobias_low", "cobias_high"]
    numbers += [n for n in ("dissimilarity",) if n in frame]
    rows = TerminalTable(title).add_text(*names).add_numbers("n", *numbers)
    alike = "like" in frame and len(frame) > 1
    if alike:
        rows.add_numbers("rank").add_text("cannot be told from")
    for row in frame.to_dict(orient="records"):
        cells = ["–" if row[n] != row[n] or row[n] is None else row[n] for n in names]
        values = ["–" if v is None or v != v else f"{v:.3f}" for v in (row[n] for n in numbers)]
        like = [_rank(row), row["like"]] if alike else []
        rows.add_row(*cells, f"{row['scored']}/{row['statements']}", *values, *like)
    return rows


def _rank(row: dict[str, Any]) -> str:
    """A rank with its interval: 1 is what context changes most."""
    low, high = (round(row[name]) for name in ("rank_low", "rank_high"))
    return f"{row['rank']:g}" if low == high else f"{row['rank']:g} ({low} to {high})"
