"""clinometer calibrate: correct what a judge read by what people say."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.help import JSON, opt
from clinometer.cli.printing import TerminalTable, console, print_json
from clinometer.errors import SettingsError
from clinometer.runs import Run
from clinometer.runs.calibration import calibrate, calibration_sentence, labelled
from clinometer.settings import COUNT, SEED


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
        Path | None,
        typer.Argument(metavar="LABELS", help="What people said: an export of annotate."),
    ] = None,
    sample: Annotated[
        int | None,
        opt(
            "Write REPLIES: this many of the run's sampled replies, chosen at random, for people "
            "to label.",
            allowed=COUNT,
        ),
    ] = None,
    seed: Annotated[int, opt("Random seed of --sample.", allowed=SEED)] = 0,
    column: Annotated[str, opt("The column of REPLIES with the judge's category.")] = "judge",
    group: Annotated[
        str | None,
        opt("A column of REPLIES: test whether the judge errs alike about all its groups."),
    ] = None,
    json_output: JSON = False,
) -> None:
    """Correct the risks of a run for the errors of its judge, using people's labels.

    With --sample N it writes the table for annotate instead: N replies of the run, each with the
    category that its judge, classifier, function or words give it.

    LABELS has the most frequent label of each reply; ties count for nothing. The corrected values
    and intervals are written to run.json, and the report shows them.
    """
    from clinometer.reliability.benchmarks import need_columns, read_rows
    from clinometer.reliability.people.ratings import read_ratings

    opened = Run.load(run)
    if sample is not None:
        if labels is not None:
            raise SettingsError("--sample: writes REPLIES for people to label; leave out LABELS")
        _write_sample(opened, replies, sample, seed)
        return
    if labels is None:
        raise SettingsError(
            "LABELS: expected what people said, an export of annotate; --sample 200 writes the "
            "replies for them"
        )
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


def _write_sample(run: Run, replies: Path, n: int, seed: int) -> None:
    from clinometer.runs.calibration import sample_replies, write_replies

    if replies.exists():
        raise SettingsError(f"{replies}: exists already; name a new file for the sample")
    rows = sample_replies(run, n, seed=seed)
    write_replies(replies, rows)
    names = ",".join(run.preferences.categories)
    console().print(
        f"{replies}: {len(rows)} replies. Next: clinometer reliability annotate "
        f"{shlex.quote(str(replies))} --mode category --categories {shlex.quote(names)}",
        soft_wrap=True,
    )
