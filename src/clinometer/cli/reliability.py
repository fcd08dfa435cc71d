"""clinometer reliability audit: from a benchmark's files to scores and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.limits import below, fail
from clinometer.cli.options import derived, set_option, set_settings
from clinometer.cli.printing import print_json, print_rows, print_table, sentence
from clinometer.cli.progress import progress
from clinometer.display.numbers import between, counted, risk
from clinometer.display.text import plain, plain_records
from clinometer.errors import SettingsError, TableError
from clinometer.reliability import load_statements, read_variants
from clinometer.reliability.audit import BenchmarkSettings, audit_benchmark
from clinometer.reliability.blanks import PAPER_TEMPERATURE
from clinometer.reliability.scoring import LARGE
from clinometer.reliability.variants import NO_FILLER, VariantSettings
from clinometer.storage.atomic import output_file
from clinometer.storage.spreadsheet import csv_text

if TYPE_CHECKING:
    import pandas as pd

    from clinometer.reliability import ReliabilityRun, Statement
    from clinometer.reliability.audit import BenchmarkAudit

StatementsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="STATEMENTS...",
        help="Benchmark files, or a csv or jsonl file with a column sentence.",
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    opt(
        "A scoring model; may be repeated. paper: the paper's three large models.",
        "--model",
        unset="pocket:bert",
    ),
]
LimitOption = Annotated[
    int | None,
    opt("Sample at most this many statements.", "--limit", allowed=ranges.COUNT, unset="use all"),
]

#: Statements with the lowest COBIAS that are printed.
_SHOWN = 5
#: What --set may change.
KEYS = (
    *("as_in_paper", "filler", "temperature"),
    *("reading", "normalise", "dissimilarity", "max_dissimilarity", "level", "seed", "device"),
)
_UNSET = (VariantSettings.filler, VariantSettings.temperature)


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
    variants: Annotated[
        Path | None,
        opt(
            "Versions with added context, of which --versions are used: jsonl {id, variants} or "
            "csv id, version.",
            unset="write them",
        ),
    ] = None,
    format: Annotated[
        str | None, opt("Format of the benchmark.", "--format", unset="detected")
    ] = None,
    limit: LimitOption = None,
    until: Annotated[
        str | None,
        opt("Stop after a step and show it: statements, points or versions.", unset="the report"),
    ] = None,
    examples: Annotated[
        Path | None,
        opt("Statements with context_points to show to the writer as examples.", advanced=True),
    ] = None,
    n: Annotated[int, derived(VariantSettings, "n")] = VariantSettings.n,
    values: Annotated[list[str] | None, set_option(BenchmarkSettings, *KEYS)] = None,
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    fail_below: Annotated[
        float | None, opt("Exit with status 1 if the mean COBIAS is lower.", allowed=ranges.SHARE)
    ] = None,
    json_output: JSON = False,
) -> None:
    """From a benchmark's files to a report: pairs, target terms, blanks, versions, scores, ranks.

    Every step leaves its file in --out, to look at or to edit. Rerun the same command to resume,
    and to redo what depends on an edited file: statements that have changed are scored again and
    shown before and after. Benchmarks contain offensive sentences.
    """
    import pandas as pd

    from clinometer.report.reliability import write_reliability_report

    settings = set_settings(BenchmarkSettings(), values, KEYS)
    points = replace(settings.points, model=writer, examples=_examples(examples))
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
    with progress("audit", unit="statements", start="reading", kept=out) as watch:
        audit = audit_benchmark(
            statements,
            out,
            models=_scoring_models(models),
            variants=None if variants is None else read_variants(variants),
            until=until,
            settings=settings,
            fresh=fresh,
            stage=watch.stage,
        )
    if audit.run is None:
        _print_steps(audit, json_output=json_output)
        return
    frames = {"scores": audit.run.statements}
    if audit.changes:
        frames["changes"] = pd.DataFrame(audit.changes)
    for name, frame in frames.items():
        write_frame(frame, out / f"{name}.csv")
    write_reliability_report(audit.run, out / "report.html")
    if json_output:
        print_json(_run_json(audit.run) | {"steps": audit.counts, "changes": plain(audit.changes)})
    else:
        _print_changes(audit.changes)
        _print_run(audit.run)
        edit = "edit the statements and rerun the command to see before and after"
        sentence(
            f"In {out}: every step's file, {', '.join(f'{name}.csv' for name in frames)}. "
            f"Next: open {out / 'report.html'}; {edit}"
        )
    _check_cobias(audit.run, fail_below)


def read_statements(
    sources: Sequence[str], *, format: str | None, limit: int | None, seed: int
) -> list[Statement]:
    """Statements of the sources, or a sample of them in order."""
    import numpy as np

    statements = load_statements(*sources, format=format)
    if limit is None or limit >= len(statements):
        return statements
    chosen = np.random.default_rng(seed).choice(len(statements), size=limit, replace=False)
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


def _scoring_models(names: list[str] | None) -> list[str]:
    """The scoring models that were named, or the default."""
    asked = (m for name in names or ["pocket:bert"] for m in (LARGE if name == "paper" else [name]))
    return list(dict.fromkeys(asked))


def _examples(path: Path | None) -> tuple[tuple[str, str], ...]:
    """Statements with their blanks, to show to the writer."""
    shown = () if path is None else load_statements(path)
    return tuple((s.text, s.points) for s in shown if s.points)


def _run_json(run: ReliabilityRun) -> dict[str, Any]:
    names = ("models", "summary", "length", "agreement", "counts", "sureness")
    record = run.record.to_dict()
    return {name: record[name] for name in names} | {
        "findings": [f.to_dict() for f in run.findings],
        "statements": plain_records(run.statements),
    }


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
        print_rows(
            "Lowest COBIAS",
            ["id", "COBIAS", "rank", "at equal length", "statement"],
            [
                (name, f"{cobias:.3f}", f"{rank:.0f}", f"{adjusted:.0f}", text)
                for name, cobias, rank, adjusted, text in lowest[columns].itertuples(index=False)
            ],
            words=("id", "statement"),
        )
    if len(lowest) and ("dissimilarity_pairwise" in frame or frame["source"].nunique() > 1):
        print_table(reliability_tables(run)[0])
    for finding in others:
        sentence(finding.text)


def _print_changes(changes: Sequence[Mapping[str, Any]]) -> None:
    """The statements that were edited, before and after."""
    if not changes:
        return
    rows = []
    for row in changes:
        rows.append(("before", risk(row["cobias_before"]), row["before"], ""))
        rows.append(("after", risk(row["cobias_after"]), row["after"], row["change"]))
    print_rows(
        f"{counted(len(changes), 'statement')} changed since the last audit",
        ["", "COBIAS", "statement", "change"],
        rows,
        words=("", "statement", "change"),
    )


def _check_cobias(run: ReliabilityRun, fail_below: float | None) -> None:
    cobias = run.summary["cobias"]
    if cobias is None:
        raise SettingsError(
            "COBIAS: expected at least one statement with a score, found none; see the counts, "
            "and compare the ids of statements and versions"
        )
    if fail_below is not None:
        fail(below("COBIAS", cobias, fail_below))


def _print_steps(audit: BenchmarkAudit, *, json_output: bool) -> None:
    """The last step that was made."""
    step = audit.versions or audit.points
    if step is None:
        found = _counted_statements(audit.statements)
    else:
        found = {"summary": dict(step.counts), "statements": step.rows}
    if json_output:
        print_json(found)
        return
    title = counted(len(audit.statements), "statement")
    if audit.versions is not None:
        made = [
            (row["id"], version)
            for row in audit.versions.rows[:3]
            for version in row["variants"][:3]
        ]
        print_rows(title, ["id", "version"], made, words=("id", "version"))
    elif audit.points is not None:
        headings = ["id", "by", "points", "ask"]
        rows = [
            (row["id"], row["proposer"], row["context_points"],
             " ".join(dict.fromkeys(row["questions"])))
            for row in audit.points.rows[:10]
        ]  # fmt: skip
        print_rows(title, headings, rows, words=headings)
    for name, value in (found["summary"] | {"categories": found.get("categories")}).items():
        if isinstance(value, dict):
            parts = [f"{k.replace('_', ' ')} {_written(v)}" for k, v in value.items() if v]
            value = "; ".join(parts) or None
        if value is not None:
            sentence(f"{name.replace('_', ' ')}: {_written(value)}")


def _counted_statements(statements: Sequence[Statement]) -> dict[str, Any]:
    counts = {
        "statements": len(statements),
        "pairs": sum(s.other is not None for s in statements),
        "without_target": sum(not s.targets for s in statements),
        "target_not_in_sentence": sum(not s.has_its_targets for s in statements),
        "with_points": sum(s.points is not None for s in statements),
    }
    categories = Counter(s.category or "–" for s in statements)
    return {"summary": counts, "categories": dict(categories.most_common())}


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in value.items()) + ")"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
