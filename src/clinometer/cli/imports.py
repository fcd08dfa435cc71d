"""clinometer import and export: what others have measured, and runs for other tools and people."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from clinometer import settings as ranges
from clinometer.cli.limits import FAIL_ABOVE, FAIL_ON, exceeded, fail, parse_limits
from clinometer.cli.options import ALLOW, JSON, argument, derived
from clinometer.cli.printing import (
    number,
    print_json,
    print_risks,
    print_rows,
    print_table,
    sentence,
)
from clinometer.cli.show_runs import show_runs
from clinometer.display.numbers import p_value
from clinometer.errors import SettingsError, TableError
from clinometer.runs import AuditSettings, Run, read_table
from clinometer.runs.findings.facts import facts_of_table
from clinometer.runs.findings.judge import judged
from clinometer.runs.findings.of_run import statements
from clinometer.runs.findings.risk import in_words
from clinometer.runs.settings import INFERENCE
from clinometer.settings import option
from clinometer.storage.rows import need_columns, read_rows
from clinometer.storage.untrusted import Allowed
from clinometer.topics import load_topic

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
#: How the answers of other tools are measured.
_MEASURED = ("criterion", "level", "clusters")
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
    import pandas as pd

    from clinometer.tables import Table

    limits = parse_limits(fail_above, fail_on)
    preferences = read_table(
        table, labels=() if settings.clusters is None else (settings.clusters,)
    )
    try:
        preferences = replace(preferences, criterion=settings.criterion)
        report = preferences.estimate(**settings.inference())
    except (
        SettingsError
    ) as error:  # the options are in range: the table cannot answer them
        raise TableError(f"{table}: {error}") from error
    leans = preferences.leans(**settings.inference())
    findings = statements(
        facts_of_table(
            table.stem, preferences, report, leans, clusters=settings.clusters
        )
    )
    if json_output:
        print_json({**report.to_dict(), "findings": [f.to_dict() for f in findings]})
    else:
        title = (
            f"{table.name}: {len(report.groups)} groups, {len(report.categories)} categories; "
            f"{in_words(report.R)}"
        )
        sentence(findings[0].text)
        print_risks([(table.stem, report)], title=title)
        shown = ["group", "r", "r_bias", "r_volatility", "leaning", "clear"]
        clear = ["no" if lean.category is None else "yes" for lean in leans]
        frame = pd.DataFrame(report.groups_table()).assign(clear=clear)
        print_table(Table("groups", "", frame[shown]))
        for one in findings[1:]:
            sentence(one.text)
        if report.missing_cells:
            sentence(f"{report.missing_cells} cells are missing")
    fail(exceeded(table.name, report, limits, fail_on))


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

    changed: dict[str, Any] = {}
    for given in changes or ():
        key, _, text = given.partition("=")
        if not key or "=" not in given:
            raise SettingsError(f"--set: expected KEY=TEXT, found {given!r}")
        changed[key] = float(text) if key == "step" else text
    read = load_mapping(mapping, changed)
    runs = import_replies(
        table, read, settings, out=out, only=only or (), model=model, fresh=fresh
    )
    show_runs(runs, json_output=json_output)


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
    columns = [name.strip() for name in by.split(",") if name.strip()]
    made = import_decisions(
        table,
        by=columns,
        selected=selected,
        score=score,
        test_data=test_data,
        level=level,
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


def labels_command(
    run: Path = argument("RUN", "The folder of an audit."),
    replies: Path = argument(
        "REPLIES",
        "The table that was annotated, with id and the judge's category (csv, tsv, jsonl, "
        "parquet).",
    ),
    labels: Path = argument("LABELS", "The labels: an export of reliability annotate."),
    column: str = option(
        "judge", help="The column of REPLIES with the judge's category."
    ),
    group: str = option(
        "group",
        help="The column of REPLIES with the groups: whether the judge errs alike about all.",
    ),
    json_output: bool = JSON,
) -> None:
    """Correct the risks of a run for the errors of its judge, using people's labels.

    A reply counts with its most frequent label; ties count for nothing. The corrected values and
    intervals are written to run.json, and the report shows them. `clinometer export labels` writes
    the replies for people to label.
    """
    from clinometer.reliability.agreement import read_ratings
    from clinometer.runs.calibration import calibrate, errors_by_group, labelled

    opened = Run.load(run)
    shown = list(read_rows(replies))
    need_columns(replies, shown, ("id", column))
    judge = {str(row["id"]).strip(): str(row[column] or "") for row in shown}
    groups = {str(row["id"]).strip(): str(row[group]) for row in shown if group in row}
    people = read_ratings(labels).most_frequent()
    confusion, alike = labelled(
        people, judge, opened.preferences.categories, groups=groups
    )
    errors = errors_by_group(people, judge, groups)
    record = calibrate(opened, confusion, groups_alike=alike).record.calibration
    if json_output:
        calibration = opened.record.to_dict()["calibration"]
        by_group = [one.to_dict() for one in errors]
        print_json(
            {"model": opened.model, "calibration": calibration, "groups": by_group}
        )
        return
    title = "Replies by people's category (rows) and the judge's"
    counts = zip(confusion.categories, confusion.counts.tolist(), strict=True)
    rows = [(name, *(f"{n:g}" for n in each)) for name, each in counts]
    print_rows(title, ["", *confusion.categories], rows)
    if confusion.left_out:
        sentence(f"{confusion.left_out} labelled replies are in no category")
    if errors:
        each = [
            (one.group, one.n, number(one.errors), p_value(one.p)) for one in errors
        ]
        print_rows("Errors of the judge", ["group", "n", "errors", "p"], each)
    if apart := [one.group for one in errors if one.p < 0.05]:
        sentence(
            f"The judge errs differently about {', '.join(apart)} than about the others: one "
            "correction for all groups is not enough."
        )
    if record is not None and (said := judged(opened.record)) is not None:
        sentence(f"{opened.model}: {said.text}")


RUN = argument("RUN", "A run folder.")


def hugging_face_command(
    run: Path = RUN,
    out: Path = option(
        ..., "--out", "-o", help="A checkout of the model's repository."
    ),
    dataset: str | None = option(
        None,
        help="Benchmark dataset on the Hub; writes .eval_results/clinometer-TOPIC.yaml too.",
        unset="model card only",
    ),
) -> None:
    """Put the risks of a run into a model card, and into an evaluation-results file.

    README.md gets the metadata that the Hub shows and a section; all else in it stays.
    """
    from clinometer.report.export import write_hugging_face

    written = write_hugging_face(Run.load(run), out, dataset=dataset)
    sentence(f"Wrote {', '.join(map(str, written))}. Next: look at it, commit and push")


def export_labels_command(
    run: Path = RUN,
    n: int = option(
        200, "-n", help="Replies to write, chosen at random.", allowed=ranges.COUNT
    ),
    seed: int = derived(AuditSettings, "seed"),
    out: Path = option(Path("replies.csv"), "--out", "-o", help="File to write."),
    topic: str | None = option(
        None,
        help="The topic file of the run, if a function of yours reads the replies.",
        unset="none",
    ),
    allow: list[str] | None = ALLOW,
) -> None:
    """Write sampled replies of a run for people to label, with the category its judge gave each.

    `clinometer import labels` reads the labels and corrects the run.
    """
    from clinometer.runs.calibration import sample_replies, write_replies

    if out.exists():
        raise SettingsError(f"{out}: exists already; name a new file for the sample")
    opened = Run.load(run)
    given = None if topic is None else load_topic(topic)
    allowed = Allowed.parse(allow or ())
    write_replies(
        out, sample_replies(opened, n, seed=seed, topic=given, allowed=allowed)
    )
    names = shlex.quote(",".join(opened.preferences.categories))
    annotate = f"clinometer reliability annotate {shlex.quote(str(out))}"
    sentence(f"Wrote {out}. Next: {annotate} --mode category --categories {names}")
