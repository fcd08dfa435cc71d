"""BBQ: audits of its files, and clinometer bbq, which reads published answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import console, print_json
from clinometer.cli.table import TerminalTable
from clinometer.display.numbers import percent, risk
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings, Run

if TYPE_CHECKING:
    from clinometer.topics.bbq.items import BbqItem

#: In front of a file name given as --topic.
BBQ = "bbq:"
_MOST_LISTED = 20


@grouped
def bbq_command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Files of BBQ with answers (.jsonl, .gz, .zst)."),
    ],
    *,
    settings: Annotated[AuditSettings, "norm", "normalize", "level", "clusters", "target"],
    answers: Annotated[
        list[str] | None,
        opt(
            "FORMAT=FIELD: a prompt format and the field with its answers; repeat for each.",
            unset="fields named …_pred_FORMAT",
        ),
    ] = None,
    model: Annotated[str, opt("The model that gave the answers.")] = "published answers",
    out: Annotated[Path | None, opt("Run folder.", "--out", "-o")] = None,
    json_output: JSON = False,
) -> None:
    """Read published answers to BBQ's questions: its own scores beside R, bias and volatility.

    Prompt formats are contexts. Replies that say none of the options are listed.
    """
    from clinometer.models import ModelInfo
    from clinometer.runs.bbq.replies import answer_fields, read_replies
    from clinometer.runs.bbq.result import BbqReplies, bbq_run

    items, name = read_files(files)
    fields = answer_fields(items) if answers is None else _fields(answers)
    if not fields:
        raise SettingsError("--answers: expected FORMAT=FIELD, since no field is …_pred_FORMAT")
    replies = BbqReplies.of(*read_replies(items, fields))
    info = ModelInfo(name=model, kind="replies", revision="as published")
    run = bbq_run(info, replies, settings, name=name, out=out)
    if json_output:
        from clinometer.cli.audit.output import as_json

        print_json(as_json([run], []))
        return
    print_bbq([run])


def read_files(files: Sequence[Path]) -> tuple[list[BbqItem], str]:
    """The items of all files, and what they are called together."""
    from clinometer.topics.bbq.items import read_bbq

    items = [item for file in files for item in read_bbq(file)]
    return items, "-".join(dict.fromkeys(item.category for item in items))


def audited_bbq(
    topic: str, contexts: str | None, groups: str | None, *, fresh: bool
) -> tuple[partial[Run], str]:
    """How to audit a model with a file of BBQ, and what the file is called."""
    from clinometer.runs.bbq.audit import bbq_audit, chosen_formats
    from clinometer.topics.bbq.formats import FORMATS

    if groups is not None:
        raise SettingsError("--groups: expected none with bbq:FILE; its items name their groups")
    formats = list(FORMATS) if contexts is None else [c.strip() for c in contexts.split(",")]
    chosen_formats(formats)
    items, name = read_files([Path(topic.removeprefix(BBQ))])
    return partial(bbq_audit, items=items, name=name, formats=formats, fresh=fresh), name


def print_bbq(runs: Sequence[Run]) -> None:
    """The risks with notes, then BBQ's own scores and what could not be read."""
    from clinometer.cli.audit.output import print_runs

    print_runs(list(runs), title=f"{runs[0].record.topic.title}, ambiguous contexts")
    for run in runs:
        found = run.record.benchmark
        if found is None:
            continue
        table = TerminalTable(f"{found.name}'s own scores: {run.model}")
        table.add_text("category", "contexts", "format").add_numbers("accuracy", "bias", "items")
        for s in found.scores:
            table.add_row(
                s.category, s.condition, s.format, percent(s.accuracy), risk(s.bias), f"{s.n:,}"
            )
        table.print(console())
        if found.unread:
            share = percent(len(found.unread) / found.replies)
            console().print(f"{len(found.unread)} of {found.replies:,} replies ({share}) say none:")
            for reply in found.unread[:_MOST_LISTED]:
                said = f"  {reply.item}, {reply.format}: {reply.reply!r}"
                console().print(said, markup=False, soft_wrap=True)
            if len(found.unread) > _MOST_LISTED:
                console().print("  … all of them are in run.json and --json")
        if found.unscored:
            console().print(
                f"{len(found.unscored)} items do not tell which group the stereotype is about; "
                "they count for accuracy alone"
            )


def _fields(answers: Sequence[str]) -> dict[str, str]:
    found = {}
    for given in answers:
        form, equals, field = given.partition("=")
        if not (form and equals and field):
            raise SettingsError(f"--answers: expected FORMAT=FIELD, found {given!r}")
        found[form] = field
    return found
