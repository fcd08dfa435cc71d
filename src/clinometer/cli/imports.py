"""clinometer import: what others have measured: tables, answers, harnesses, people's labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer.cli.audit_output import as_json, print_runs, where_next
from clinometer.cli.help import JSON, opt
from clinometer.cli.limits import FAIL_ABOVE, FAIL_ON, exceeded, fail, parse_limits
from clinometer.cli.options import LEVEL, grouped
from clinometer.cli.printing import (
    number,
    print_json,
    print_risks,
    print_rows,
    print_table,
    sentence,
)
from clinometer.display.numbers import p_value
from clinometer.display.text import visible
from clinometer.errors import SettingsError, TableError
from clinometer.runs import AuditSettings, Run, read_table
from clinometer.runs.findings import facts_of_table, statements
from clinometer.runs.sentences import in_words
from clinometer.runs.settings import INFERENCE

OUT = Annotated[Path, opt("Run folder to write.", "--out", "-o")]
MAPPING = Annotated[
    str | None,
    opt(
        "Which fields are the group, the context and the category: a ready mapping or a .toml file "
        "(docs/bridges.md).",
        unset="that of the task",
    ),
]
MODEL = Annotated[
    str | None, opt("What to call the model.", unset="the name that the harness gives it")
]
#: How the answers of other tools are measured.
_MEASURED = ("criterion", "level", "clusters")
MEASURED = Annotated[AuditSettings, _MEASURED]
FRESH = Annotated[bool, opt("Replace another run in --out.", "--fresh")]


@grouped
def table_command(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A csv or parquet file with the columns group, context, attribute and p; "
            "optionally context_weight, group_weight and reference.",
        ),
    ],
    *,
    settings: Annotated[AuditSettings, INFERENCE],
    fail_above: FAIL_ABOVE = None,
    fail_on: FAIL_ON = "low",
    json_output: JSON = False,
) -> None:
    """Split the risk of any table of preferences into bias and volatility; no model is needed."""
    import pandas as pd

    from clinometer.display.table import Table

    limits = parse_limits(fail_above, fail_on)
    preferences = read_table(
        table, labels=() if settings.clusters is None else (settings.clusters,)
    )
    try:
        preferences = preferences.measured_by(settings.criterion)
        report = preferences.estimate(**settings.inference())
    except SettingsError as error:  # the options are in range: the table cannot answer them
        raise TableError(f"{table}: {error}") from error
    leans = preferences.leans(
        level=settings.level,
        clusters=settings.clusters,
        known=preferences.exact(settings.population),
    )
    findings = statements(
        facts_of_table(
            table.stem,
            preferences,
            report,
            leans,
            clusters=settings.clusters,
            population=settings.population,
        )
    )
    if json_output:
        said = {"population": settings.population, "findings": [f.to_dict() for f in findings]}
        print_json({**report.to_dict(), **said})
    else:
        title = (
            f"{table.name}: {len(report.groups)} groups, {len(report.categories)} categories; "
            f"{in_words(report.R, settings.population)}"
        )
        sentence(findings[0].text)
        print_risks([(table.stem, report)], title=title)
        groups = pd.DataFrame(report.groups_table())
        shown = ["group", "r", "r_bias", "r_volatility", "leaning"]
        print_table(Table("groups", "", groups[shown]))
        for one in findings[1:]:
            sentence(one.text)
        if report.missing_cells:
            sentence(f"{report.missing_cells} cells are missing")
    fail(exceeded(table.name, report, limits, fail_on))


@grouped
def lm_eval_command(
    samples: Annotated[
        Path,
        typer.Argument(
            metavar="SAMPLES.jsonl",
            help="A file samples_TASK_DATE.jsonl that lm_eval --log_samples wrote.",
        ),
    ],
    out: OUT,
    mapping: MAPPING = None,
    model: MODEL = None,
    *,
    settings: MEASURED,
    fresh: FRESH = False,
    json_output: JSON = False,
) -> None:
    """Read the samples of a log-likelihood task of lm-evaluation-harness as a run."""
    from clinometer.bridges.lm_eval import import_lm_eval

    run = import_lm_eval(
        samples,
        mapping=mapping,
        model=model,
        out=out,
        settings=settings,
        fresh=fresh,
    )
    _show(run, json_output=json_output)


@grouped
def inspect_command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A log of Inspect, a file .eval or .json.")
    ],
    out: OUT,
    mapping: Annotated[
        str | None,
        opt(
            "Which fields of a sample are the group, the context and the category: a .toml file "
            "(docs/bridges.md).",
            unset="none, for logs of clinometer/audit",
        ),
    ] = None,
    model: MODEL = None,
    *,
    settings: Annotated[AuditSettings, (*_MEASURED, "allow")],
    fresh: FRESH = False,
    json_output: JSON = False,
) -> None:
    """Read a log of Inspect as a run: epochs are replies, which are counted."""
    from clinometer.bridges.inspect import import_inspect

    run = import_inspect(log, mapping=mapping, model=model, out=out, settings=settings, fresh=fresh)
    _show(run, json_output=json_output)


@grouped
def replies_command(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="One reply per row: .csv, .tsv, .jsonl, .parquet (also .gz), a result file of "
            "promptfoo or DeepEval (.json), or a folder of .json files.",
        ),
    ],
    out: Annotated[Path, opt("Folder for the runs, one per model (and axis).", "--out", "-o")],
    mapping: Annotated[
        str,
        opt("Which fields are what: a ready mapping or a .toml file (docs/bridges.md)."),
    ] = "replies",
    changes: Annotated[
        list[str] | None,
        opt("KEY=TEXT: change a key of the mapping, such as group={vars.name}.", "--set"),
    ] = None,
    only: Annotated[
        list[str] | None, opt("Take this axis alone; may be repeated.", unset="all axes")
    ] = None,
    model: Annotated[
        str | None, opt("What to call the model.", unset="as the table says, or the file's name")
    ] = None,
    *,
    settings: MEASURED,
    fresh: FRESH = False,
    json_output: JSON = False,
) -> None:
    """Read any table of replies as runs: lean, swing and dice of each model.

    The ready mapping replies takes the columns model, group, context, repetition and score.
    """
    from clinometer.bridges.mapping import load_mapping
    from clinometer.bridges.replies import import_replies

    changed: dict[str, Any] = {}
    for given in changes or ():
        key, _, text = given.partition("=")
        if not key or "=" not in given:
            raise SettingsError(f"--set: expected KEY=TEXT, found {given!r}")
        changed[key] = float(text) if key == "step" else text
    runs = import_replies(
        table,
        load_mapping(mapping, changed),
        settings,
        out=out,
        only=only or (),
        model=model,
        fresh=fresh,
    )
    _show(*runs, json_output=json_output)


def decisions_command(
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="One row per person: .csv, .tsv, .jsonl, .parquet."),
    ],
    by: Annotated[str, opt("The columns of groups, separated by commas: sex,race.")],
    selected: Annotated[
        str | None,
        opt("The decision that counts: a value, or COLUMN=VALUE.", unset="--score instead"),
    ] = None,
    score: Annotated[
        str | None, opt("The column of a score instead of a decision.", unset="--selected")
    ] = None,
    test_data: Annotated[str, opt("If the people were made up, why: the tables say so.")] = "",
    level: LEVEL = AuditSettings.level,
    out: Annotated[
        Path | None,
        opt("File for the tables: .md, .tex, .json or .csv.", "--out", "-o", unset="none"),
    ] = None,
    json_output: JSON = False,
) -> None:
    """Compare decisions about people as they came: rates and impact ratios by group.

    Each column by itself, and all of them together. Nothing here tells a cause.
    """
    from clinometer.bridges.decisions import import_decisions
    from clinometer.report.export import format_of, write_as

    if out is not None and format_of(out) in ("html", "svg", "png"):
        raise SettingsError(f"--out: expected .md, .tex, .json or .csv, found {out}")
    columns = [name.strip() for name in by.split(",") if name.strip()]
    made = import_decisions(
        table, by=columns, selected=selected, score=score, test_data=test_data, level=level
    )
    if json_output:
        print_json(made.to_dict())
    else:
        for text in made.sentences():
            sentence(text)
        for each in made.tables():
            print_table(replace(each, note=""))
    if out is not None:
        written = write_as(out, page=str, tables=made.tables, figures=list)
        stream = sys.stderr if json_output else sys.stdout
        stream.write(f"Wrote {', '.join(map(str, written))}\n")


def _show(*runs: Run, json_output: bool) -> None:
    if json_output:
        print_json(as_json(list(runs), []))
    else:
        print_runs(list(runs))
    stream = sys.stderr if json_output else sys.stdout
    stream.write(visible(where_next([run.path for run in runs if run.path])) + "\n")


def labels_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of an audit.")],
    replies: Annotated[
        Path,
        typer.Argument(
            metavar="REPLIES",
            help="The table that was annotated, with id and the judge's category "
            "(csv, tsv, jsonl, parquet).",
        ),
    ],
    labels: Annotated[
        Path,
        typer.Argument(metavar="LABELS", help="The labels: an export of reliability annotate."),
    ],
    column: Annotated[str, opt("The column of REPLIES with the judge's category.")] = "judge",
    group: Annotated[
        str,
        opt("The column of REPLIES with the groups: whether the judge errs alike about all."),
    ] = "group",
    json_output: JSON = False,
) -> None:
    """Correct the risks of a run for the errors of its judge, using people's labels.

    A reply counts with its most frequent label; ties count for nothing. The corrected values and
    intervals are written to run.json, and the report shows them. `clinometer export labels` writes
    the replies for people to label.
    """
    from clinometer.reliability.agreement import read_ratings
    from clinometer.runs.calibration import calibrate, errors_by_group, labelled
    from clinometer.runs.findings import judged
    from clinometer.storage.rows import need_columns, read_rows

    opened = Run.load(run)
    shown = list(read_rows(replies))
    need_columns(replies, shown, ("id", column))
    judge = {str(row["id"]).strip(): str(row[column] or "") for row in shown}
    groups = {str(row["id"]).strip(): str(row[group]) for row in shown if group in row}
    people = read_ratings(labels).most_frequent()
    confusion, alike = labelled(people, judge, opened.preferences.categories, groups=groups)
    errors = errors_by_group(people, judge, groups)
    record = calibrate(opened, confusion, groups_alike=alike).record.calibration
    if json_output:
        calibration = opened.record.to_dict()["calibration"]
        by_group = [one.to_dict() for one in errors]
        print_json({"model": opened.model, "calibration": calibration, "groups": by_group})
        return
    title = "Replies by people's category (rows) and the judge's"
    counts = zip(confusion.categories, confusion.counts.tolist(), strict=True)
    rows = [(name, *(f"{n:g}" for n in each)) for name, each in counts]
    print_rows(title, ["", *confusion.categories], rows)
    if confusion.left_out:
        sentence(f"{confusion.left_out} labelled replies are in no category")
    if errors:
        each = [(one.group, one.n, number(one.errors), p_value(one.p)) for one in errors]
        print_rows("Errors of the judge", ["group", "n", "errors", "p"], each)
    if apart := [one.group for one in errors if one.p < 0.05]:
        sentence(
            f"The judge errs differently about {', '.join(apart)} than about the others: one "
            "correction for all groups is not enough."
        )
    if record is not None and (said := judged(opened.record)) is not None:
        sentence(f"{opened.model}: {said.text}")
