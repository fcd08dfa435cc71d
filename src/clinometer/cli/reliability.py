"""clinometer reliability audit: from a benchmark's files to scores of its statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from clinometer import settings as ranges
from clinometer.cli.options import JSON, argument, derived, set_option, set_settings
from clinometer.cli.printing import print_json, print_rows, print_table, sentence
from clinometer.cli.progress import progress
from clinometer.display.numbers import between, counted, risk, show
from clinometer.display.text import plain_records
from clinometer.errors import SettingsError
from clinometer.reliability import ReliabilityRun, load_statements, read_variants
from clinometer.reliability.audit import (
    POINTS,
    STATEMENTS,
    VERSIONS,
    BenchmarkAudit,
    BenchmarkSettings,
    audit_benchmark,
)
from clinometer.reliability.benchmarks import sample_statements
from clinometer.reliability.settings import scoring_models
from clinometer.reliability.variants import VariantSettings
from clinometer.settings import option
from clinometer.storage.frames import write_frame
from clinometer.tables import Table

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

_LOWEST = 5
"""Statements with the lowest COBIAS that are printed."""

_FIRST = 10
"""Rows of a step that are printed."""

_COLUMNS_OF_STEPS = {
    STATEMENTS: ("id", "target_term", "sentence"),
    POINTS: ("id", "proposer", "context_points"),
    VERSIONS: ("id", "variants"),
}
"""What is printed of the rows of a step."""

KEYS = (
    "as_in_paper",
    "filler",
    "temperature",
    "reading",
    "normalise",
    "dissimilarity",
    "max_dissimilarity",
    "level",
    "seed",
    "device",
)
"""What --set may change."""


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
    shown_to_writer = () if examples is None else load_statements(examples)
    settings = settings.with_writer(writer, versions=n, examples=shown_to_writer)
    statements = load_statements(*sources, format=format)
    statements = sample_statements(statements, limit, seed=settings.points.seed)
    with progress("audit", unit="statements", start="reading", kept=out) as watch:
        audit = audit_benchmark(
            statements,
            out,
            models=scoring_models(models or ["pocket:bert"]),
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
        print_json(_as_json(audit, audit.run))
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


def _as_json(audit: BenchmarkAudit, run: ReliabilityRun) -> dict[str, Any]:
    record = run.record.to_dict()
    names = ("models", "summary", "length", "agreement", "counts", "sureness")
    return {
        **{name: record[name] for name in names},
        "findings": [finding.to_dict() for finding in run.findings],
        "statements": plain_records(run.statements),
        "steps": {name: step.counts for name, step in audit.steps.items()},
        "changes": plain_records(audit.changes),
    }


def _print_run(run: ReliabilityRun) -> None:
    """Print the headline, the means, the lowest statements, and what a reader must know."""
    from clinometer.report.reliability import reliability_tables

    frame = run.statements
    headline, *findings = run.findings
    sentence(headline.text)
    rows = []
    for name, mean in run.summary.items():
        if mean is not None:
            rows.append((name, f"{mean.value:.3f}", between(mean.low, mean.high)))
    title = f"{len(frame)} statements; higher COBIAS is more reliable"
    print_rows(title, ["", "mean", "interval"], rows)
    scored = frame[frame["cobias"].notna()]
    lowest = scored.sort_values("cobias").head(_LOWEST)
    if len(lowest):
        columns = ["id", "cobias", "rank", "rank_length_adjusted", "text"]
        print_table(Table("lowest", "Lowest COBIAS", lowest[columns]))
        if "dissimilarity_pairwise" in frame or frame["source"].nunique() > 1:
            print_table(reliability_tables(run)[0])
    for finding in findings:
        sentence(finding.text)


def _print_changes(changes: pd.DataFrame) -> None:
    """Print the statements that were edited, before and after."""
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
    """Print the first rows of the last step that was made, and its counts."""
    name, step = list(audit.steps.items())[-1]
    if json_output:
        print_json({"summary": step.counts, "statements": step.rows})
        return
    columns = _COLUMNS_OF_STEPS[name]
    rows = [[_cell(row[column]) for column in columns] for row in step.rows[:_FIRST]]
    headings = [column.replace("_", " ") for column in columns]
    print_rows(counted(len(step.rows), "statement"), headings, rows, words=headings)
    counts = pd.json_normalize(step.counts, sep=" ").iloc[0]
    for label, count in counts.dropna().items():
        number = show(count, "risk" if count % 1 else "count")
        sentence(f"{str(label).replace('_', ' ')}: {number}")


def _cell(value: object) -> object:
    """Return a cell of a step; of several versions the first three."""
    return "\n".join(value[:3]) if isinstance(value, list) else value
