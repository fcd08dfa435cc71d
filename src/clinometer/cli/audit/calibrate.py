"""clinometer calibrate: correct what a judge read by what people say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.option import JSON, opt
from clinometer.cli.printing import console, print_json
from clinometer.cli.table import TerminalTable
from clinometer.runs import Run
from clinometer.runs.folder.calibration import calibrate, calibration_sentence, labelled


def calibrate_command(
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
        typer.Argument(metavar="LABELS", help="What people said: an export of annotate."),
    ],
    column: Annotated[str, opt("The column of REPLIES with the judge's category.")] = "judge",
    group: Annotated[
        str | None,
        opt("A column of REPLIES: test whether the judge errs alike about all its groups."),
    ] = None,
    json_output: JSON = False,
) -> None:
    """Correct the risks of a run for the errors of its judge, using people's labels.

    LABELS has the most frequent label of each reply; ties count for nothing. The corrected values
    and intervals are written to run.json, and the report shows them.
    """
    from clinometer.reliability.benchmarks.files import need_columns, read_rows
    from clinometer.reliability.people.ratings import read_ratings

    opened = Run.load(run)
    rows = read_rows(replies)
    need_columns(replies, rows, ("id", column, *([] if group is None else [group])))
    judge = {str(row["id"]).strip(): str(row[column] or "") for row in rows}
    groups = None if group is None else {str(r["id"]).strip(): str(r[group]) for r in rows}
    confusion, alike = labelled(
        read_ratings(labels).most_frequent(), judge, opened.preferences.categories, groups=groups
    )
    record = calibrate(opened, confusion, groups_alike=alike).record.calibration
    if json_output:
        print_json({"model": opened.model, "calibration": opened.record.to_dict()["calibration"]})
        return
    title = "Replies by people's category (rows) and the judge's"
    table = TerminalTable(title).add_text("").add_numbers(*confusion.categories)
    for name, counts in zip(confusion.categories, confusion.counts.tolist(), strict=True):
        table.add_row(name, *(f"{n:g}" for n in counts))
    table.print(console())
    if confusion.left_out:
        console().print(f"{confusion.left_out} labelled replies are in no category")
    if record is not None:
        console().print(f"{opened.model}: {calibration_sentence(record)}", soft_wrap=True)
