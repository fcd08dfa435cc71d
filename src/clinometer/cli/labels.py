"""clinometer import labels and export labels: people label replies and correct a run by it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clinometer import settings as ranges
from clinometer.cli.options import ALLOW, JSON, argument, derived
from clinometer.cli.printing import print_json, print_rows, sentence
from clinometer.cli.risks_table import number
from clinometer.display.numbers import p_value
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings, Run
from clinometer.runs.findings.judge import CHANCE, judged
from clinometer.settings import option
from clinometer.storage.rows import need_columns, read_rows
from clinometer.storage.untrusted import Allowed
from clinometer.topics import load_topic

if TYPE_CHECKING:
    from clinometer.measure.confusion import Confusion
    from clinometer.runs.calibration import GroupErrors


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
    from clinometer.reliability.ratings import read_ratings
    from clinometer.runs.calibration import calibrate, errors_by_group, labelled

    opened = Run.load(run)
    judge = _judgements(replies, column, group)
    people = read_ratings(labels).most_frequent()
    confusion, groups_alike = labelled(
        people, judge.categories, opened.preferences.categories, groups=judge.groups
    )
    errors = errors_by_group(people, judge.categories, judge.groups)
    calibrated = calibrate(opened, confusion, groups_alike=groups_alike)
    if json_output:
        print_json(
            {
                "model": opened.model,
                "calibration": opened.record.to_dict()["calibration"],
                "groups": [group_errors.to_dict() for group_errors in errors],
            }
        )
        return
    _print_confusion(confusion)
    _print_errors(errors)
    finding = judged(opened.record)
    if calibrated.record.calibration is not None and finding is not None:
        sentence(f"{opened.model}: {finding.text}")


@dataclass(frozen=True)
class Judgements:
    """What a judge said of replies, and the groups that these are about, by id of the reply."""

    categories: dict[str, str]
    groups: dict[str, str]


def _judgements(path: Path, column: str, group: str) -> Judgements:
    """Read the judge's category of each reply, and its group where the table has one."""
    rows = list(read_rows(path))
    need_columns(path, rows, ("id", column))
    categories = {}
    groups = {}
    for row in rows:
        reply = str(row["id"]).strip()
        categories[reply] = str(row[column] or "")
        if group in row:
            groups[reply] = str(row[group])
    return Judgements(categories, groups)


def _print_confusion(confusion: Confusion) -> None:
    """Print how many replies people and the judge put into which category."""
    rows = []
    counts = confusion.counts.tolist()
    for category, counts_of_judge in zip(confusion.categories, counts, strict=True):
        rows.append((category, *(f"{n:g}" for n in counts_of_judge)))
    title = "Replies by people's category (rows) and the judge's"
    print_rows(title, ["", *confusion.categories], rows)
    if confusion.left_out:
        sentence(f"{confusion.left_out} labelled replies are in no category")


def _print_errors(errors: Sequence[GroupErrors]) -> None:
    """Print how often the judge errs about each group."""
    if errors:
        rows = [
            (group.group, group.n, number(group.errors), p_value(group.p))
            for group in errors
        ]
        print_rows("Errors of the judge", ["group", "n", "errors", "p"], rows)
    different = [group.group for group in errors if group.p < CHANCE]
    if different:
        sentence(
            f"The judge errs differently about {', '.join(different)} than about the others: one "
            "correction for all groups is not enough."
        )


def export_labels_command(
    run: Path = argument("RUN", "A run folder."),
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
    from clinometer.runs.sample_replies import sample_replies, write_replies

    if out.exists():
        raise SettingsError(f"{out}: exists already; name a new file for the sample")
    opened = Run.load(run)
    rows = sample_replies(
        opened,
        n,
        seed=seed,
        topic=None if topic is None else load_topic(topic),
        allowed=Allowed.parse(allow or ()),
    )
    write_replies(out, rows)
    names = shlex.quote(",".join(opened.preferences.categories))
    annotate = f"clinometer reliability annotate {shlex.quote(str(out))}"
    sentence(f"Wrote {out}. Next: {annotate} --mode category --categories {names}")
