"""Shared by the study commands: planning, running, printing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clinometer.cli.printing import console, print_json, say
from clinometer.cli.progress import Watch, kept_cells, progress
from clinometer.cli.study.options import StudyOutput
from clinometer.cli.table import TerminalTable
from clinometer.display.visible import visible

if TYPE_CHECKING:
    from clinometer.display.table import Table
    from clinometer.runs import Run
    from clinometer.studies.framework.frame import Findings
    from clinometer.studies.framework.plan import Ask, Plan

#: Tables up to this many rows are shown in the terminal; all are written as csv files.
_SHOWN = 24


def carry_out(
    plan: Plan,
    findings: Callable[[list[tuple[Ask, Run]]], Findings],
    *,
    output: StudyOutput,
    before: Callable[[], None] | None = None,
) -> None:
    """Print the cost, score, write, print: the same for every study that scores models.

    `before` makes what is needed first, such as a trained model.
    """
    from clinometer.studies.framework.frame import ask_all

    folder = output.folder(plan.study)
    if output.only_plan:
        plain = plan.to_dict(folder)
        if output.json_output:
            print_json(plain)
        else:
            show_plan(plain, stderr=False)
        return
    if not output.json_output:
        show_plan(plan.to_dict(folder), stderr=True)
    if before is not None:
        before()
    with ExitStack() as bars:

        def watch(ask: Ask) -> Watch:
            bars.close()
            place = folder / "runs" / ask.folder
            return bars.enter_context(progress(ask.label, kept=kept_cells(place)))

        asked, failed = ask_all(plan, folder, watch=watch, fresh=output.fresh)
    for one in failed:  # first: what is left may be too little for the study
        say(f"{one.ask.label}: {one.error}")
    finish(findings(asked), folder, output)
    if failed:
        raise typer.Exit(max(one.error.exit_status for one in failed))


def finish(found: Findings, folder: Path, output: StudyOutput) -> None:
    """Write the findings and print them."""
    missing = found.write(folder, page=not output.no_page)
    if missing:
        say(f"no charts and no page: {missing}")
    if output.json_output:
        print_json(found.to_dict())
        return
    for table in found.tables:
        show_table(table)
    for line in found.sentences:
        console().print(line, soft_wrap=True)
    written = "Tables" if missing else "Tables, charts and page"
    console().print(f"{written}: {folder}", soft_wrap=True)


def show_plan(plain: dict[str, Any], *, stderr: bool) -> None:
    """One line per audit, and the total; to stderr if the study follows."""
    from clinometer.studies.framework.plan import spoken

    lines = [
        f"  {a['label']}: {a['prompts']:,} prompts ({a['topic']}, {a['contexts']}), "
        + ("done" if a["done"] else spoken(a["seconds"]))
        for a in plain["audits"]
    ]
    lines += [f"  {f['what']}: {spoken(f['seconds'])}" for f in plain["further"]]
    head = (
        f"study {plain['study']}: {plain['prompts']:,} prompts to score, "
        f"{spoken(plain['seconds'])} (rough: from parameters and this machine's speed)"
    )
    text = "\n".join([head, *lines]) + "\n"
    (sys.stderr if stderr else sys.stdout).write(visible(text))


def show_table(table: Table) -> None:
    """Print a study's table; for a long one, only the name of its file."""
    if len(table.frame) > _SHOWN:
        line = f"{table.title}: {len(table.frame)} rows in tables/{table.key}.csv"
        console().print(line, soft_wrap=True)
        return
    shown = TerminalTable(table.title)
    for c in table.combined():
        add = shown.add_text if c.is_text else shown.add_numbers
        add(c.heading)
    for row in table.rows():
        shown.add_row(*(c.text + (f"\n{c.interval}" if c.interval else "") for c in row))
    shown.print(console())
    if table.note:
        console().print(table.note, soft_wrap=True)
