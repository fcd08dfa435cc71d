"""clinometer import: what other tools have measured, as runs or tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from clinometer.cli.limits import FAIL_ABOVE, FAIL_ON, fail
from clinometer.cli.options import JSON, argument, derived
from clinometer.cli.printing import print_json, print_table, sentence
from clinometer.cli.risks_table import print_risks
from clinometer.cli.show_runs import show_runs
from clinometer.errors import SettingsError
from clinometer.gate.limits import Limits
from clinometer.runs import AuditSettings
from clinometer.runs.findings.risk import in_words
from clinometer.runs.measured_table import MeasuredTable, measure_table
from clinometer.runs.settings import INFERENCE
from clinometer.settings import option

OUT = option(..., "--out", "-o", help="Run folder to write.")
MAPPING = option(
    None,
    help="Which fields are the group, the context and the category: a ready mapping or a .toml "
    "file (docs/bridges.md).",
    unset="that of the task",
)
MODEL = option(
    None, help="What to call the model.", unset="the name that the harness gives it"
)
_MEASURED = ("criterion", "level", "clusters")
"""The settings by which the answers of other tools are measured."""

MEASURED = Annotated[AuditSettings, _MEASURED]
FRESH = option(False, help="Replace another run in --out.")


def table_command(
    table: Path = argument(
        "TABLE",
        "A csv or parquet file with the columns group, context, attribute and p; optionally "
        "context_weight, group_weight and reference.",
    ),
    *,
    settings: Annotated[AuditSettings, INFERENCE],
    fail_above: list[str] | None = FAIL_ABOVE,
    fail_on: str = FAIL_ON,
    json_output: bool = JSON,
) -> None:
    """Split the risk of any table of preferences into bias and volatility; no model is needed."""
    limits = Limits.parse(fail_above, fail_on)
    measured = measure_table(table, settings)
    if json_output:
        findings = [finding.to_dict() for finding in measured.findings]
        print_json({**measured.report.to_dict(), "findings": findings})
    else:
        _print_measured(table, measured)
    fail(limits.exceeded(table.name, measured.report))


def _print_measured(path: Path, measured: MeasuredTable) -> None:
    """Print the headline, the risks, the groups and the other findings of a table."""
    import pandas as pd

    from clinometer.tables import Table

    report = measured.report
    headline, *findings = measured.findings
    sentence(headline.text)
    title = (
        f"{path.name}: {len(report.groups)} groups, {len(report.categories)} categories; "
        f"{in_words(report.R)}"
    )
    print_risks([(path.stem, report)], title=title)
    frame = pd.DataFrame(report.groups_table())
    frame["clear"] = [
        "no" if lean.category is None else "yes" for lean in measured.leans
    ]
    columns = ["group", "r", "r_bias", "r_volatility", "leaning", "clear"]
    print_table(Table("groups", "", frame[columns]))
    for finding in findings:
        sentence(finding.text)
    if report.missing_cells:
        sentence(f"{report.missing_cells} cells are missing")


def lm_eval_command(
    samples: Path = argument(
        "SAMPLES.jsonl",
        "A file samples_TASK_DATE.jsonl that lm_eval --log_samples wrote.",
    ),
    out: Path = OUT,
    mapping: str | None = MAPPING,
    model: str | None = MODEL,
    *,
    settings: MEASURED,
    fresh: bool = FRESH,
    json_output: bool = JSON,
) -> None:
    """Read the samples of a log-likelihood task of lm-evaluation-harness as a run."""
    from clinometer.bridges.lm_eval import import_lm_eval

    run = import_lm_eval(
        samples, mapping=mapping, model=model, out=out, settings=settings, fresh=fresh
    )
    show_runs([run], json_output=json_output)


def inspect_command(
    log: Path = argument("LOG", "A log of Inspect, a file .eval or .json."),
    out: Path = OUT,
    mapping: str | None = option(
        None,
        help="Which fields of a sample are the group, the context and the category: a .toml file "
        "(docs/bridges.md).",
        unset="none, for logs of clinometer/audit",
    ),
    model: str | None = MODEL,
    *,
    settings: Annotated[AuditSettings, (*_MEASURED, "allow")],
    fresh: bool = FRESH,
    json_output: bool = JSON,
) -> None:
    """Read a log of Inspect as a run: epochs are replies, which are counted."""
    from clinometer.bridges.inspect import import_inspect

    run = import_inspect(
        log, mapping=mapping, model=model, out=out, settings=settings, fresh=fresh
    )
    show_runs([run], json_output=json_output)


def replies_command(
    table: Path = argument(
        "TABLE",
        "One reply per row: .csv, .tsv, .jsonl, .parquet (also .gz), or a .json file: a list, or "
        "what promptfoo wrote.",
    ),
    out: Path = option(
        ..., "--out", "-o", help="Folder for the runs, one per model (and axis)."
    ),
    mapping: str = option(
        "replies",
        help="Which fields are what: a ready mapping or a .toml file (docs/bridges.md).",
    ),
    changes: list[str] | None = option(
        None,
        "--set",
        help="KEY=TEXT: change a key of the mapping, such as group={vars.name}.",
    ),
    only: list[str] | None = option(
        None, help="Take this axis alone; may be repeated.", unset="all axes"
    ),
    model: str | None = option(
        None,
        help="What to call the model.",
        unset="as the table says, or the file's name",
    ),
    *,
    settings: MEASURED,
    fresh: bool = FRESH,
    json_output: bool = JSON,
) -> None:
    """Read any table of replies as runs: lean, swing and dice of each model.

    The ready mapping replies takes the columns model, group, context, repetition and score.
    """
    from clinometer.bridges.mapping import load_mapping
    from clinometer.bridges.replies import import_replies

    runs = import_replies(
        table,
        load_mapping(mapping, _mapping_changes(changes or ())),
        settings,
        out=out,
        only=only or (),
        model=model,
        fresh=fresh,
    )
    show_runs(runs, json_output=json_output)


def _mapping_changes(texts: Iterable[str]) -> dict[str, Any]:
    """Return the keys of a mapping that --set changes."""
    changes: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise SettingsError(f"--set: expected KEY=TEXT, found {text!r}")
        changes[key] = float(value) if key == "step" else value
    return changes


def decisions_command(
    table: Path = argument(
        "TABLE", "One row per person: .csv, .tsv, .jsonl, .parquet."
    ),
    by: str = option(help="The columns of groups, separated by commas: sex,race."),
    selected: str | None = option(
        None,
        help="The decision that counts: a value, or COLUMN=VALUE.",
        unset="--score instead",
    ),
    score: str | None = option(
        None, help="The column of a score instead of a decision.", unset="--selected"
    ),
    test_data: str = option(
        "", help="If the people were made up, why: the tables say so."
    ),
    level: float = derived(AuditSettings, "level"),
    out: Path | None = option(
        None,
        "--out",
        "-o",
        help="File for the tables: .md, .tex, .json or .csv.",
        unset="none",
    ),
    json_output: bool = JSON,
) -> None:
    """Compare decisions about people as they came: rates and impact ratios by group.

    Each column by itself, and all of them together. Nothing here tells a cause.
    """
    from clinometer.bridges.decisions import import_decisions
    from clinometer.report.export import format_of, write_as

    if out is not None and format_of(out) in ("html", "svg", "png"):
        raise SettingsError(f"--out: expected .md, .tex, .json or .csv, found {out}")
    decisions = import_decisions(
        table,
        by=[name.strip() for name in by.split(",") if name.strip()],
        selected=selected,
        score=score,
        test_data=test_data,
        level=level,
    )
    if json_output:
        print_json(decisions.to_dict())
    else:
        for text in decisions.sentences():
            sentence(text)
        for result in decisions.tables():
            print_table(replace(result, note=""))
    if out is not None:
        files = write_as(out, page=str, tables=decisions.tables, figures=list)
        stream = sys.stderr if json_output else sys.stdout
        stream.write(f"Wrote {', '.join(map(str, files))}\n")
