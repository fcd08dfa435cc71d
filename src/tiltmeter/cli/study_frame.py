"""What the study commands share: options, the plan, carrying out, printing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table as RichTable

from tiltmeter.cli.output import console, print_json, progress_bar

MODELS = Annotated[list[str], typer.Argument(metavar="MODEL...", help="Models, as for audit.")]
RUNS = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
TOPIC = Annotated[str, typer.Option(help="A built-in topic, or a topic file.")]
GROUPS = Annotated[
    str | None, typer.Option(help="Only these groups of the topic, separated by commas.")
]
CONTEXTS = Annotated[
    str | None,
    typer.Option(help="A built-in context set, or a csv file.  [default: the topic's own]"),
]
MAX = Annotated[int | None, typer.Option("--max-contexts", help="Draw so many contexts by weight.")]
OUT = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder of the study.  [default: studies/NAME]")
]
PLAN = Annotated[bool, typer.Option("--plan", help="Say what it would ask and cost; ask nothing.")]
FRESH = Annotated[bool, typer.Option("--fresh", help="Ask again what the folder already holds.")]
SINGLE = Annotated[
    bool, typer.Option("--single-token", help="Leave out words of several tokens, as the paper.")
]
DEVICE = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.")]
SEED = Annotated[int, typer.Option(help="Seed of the draw and of the intervals.")]
NO_PAGE = Annotated[bool, typer.Option("--no-page", help="Do not write report.html.")]

#: Tables of up to so many rows are shown in the terminal; all are csv files.
_SHOWN = 24


def topic_of(name: str, groups: str | None) -> Any:
    """The topic, or only some of its groups."""
    from tiltmeter.topics import load_topic

    topic = load_topic(name)
    if groups is None:
        return topic
    return topic.select([g.strip() for g in groups.split(",") if g.strip()])


def settings_of(max_contexts: int | None, seed: int, device: str, single_token: bool) -> Any:
    from tiltmeter.models import LoadOptions, WordOptions
    from tiltmeter.runs import AuditSettings

    return AuditSettings(
        max_contexts=max_contexts,
        seed=seed,
        load=LoadOptions(device=device),
        words=WordOptions(single_token=single_token),
    )


def carry_out(
    plan: Any,
    findings: Any,
    *,
    out: Path | None,
    only_plan: bool,
    fresh: bool,
    page: bool,
    json_output: bool,
    before: Callable[[], None] | None = None,
) -> None:
    """Say what it costs, ask, write, print: the same for every study that asks.

    `before` is what has to be made first, such as a trained model.
    """
    from tiltmeter.studies.frame import ask_all

    folder = out or Path("studies") / plan.study
    if only_plan:
        plain = plan.to_dict(folder)
        if json_output:
            print_json(plain)
        else:
            show_plan(plain, stderr=False)
        return
    if not json_output:
        show_plan(plan.to_dict(folder), stderr=True)
    if before is not None:
        before()
    with ExitStack() as bars:

        def watch(ask: Any) -> Any:
            bars.close()
            return bars.enter_context(progress_bar(ask.label, quiet=json_output))

        asked, failed = ask_all(plan, folder, watch=watch, fresh=fresh)
    finish(findings(asked), folder, page=page, json_output=json_output)
    for one in failed:
        sys.stderr.write(f"tiltmeter: {one.ask.label}: {' '.join(str(one.error).split())}\n")
    if failed:
        raise typer.Exit(max(one.error.exit_status for one in failed))


def finish(found: Any, folder: Path, *, page: bool, json_output: bool) -> None:
    """Write what was found and print it."""
    found.write(folder, page=page)
    if json_output:
        print_json(found.to_dict())
        return
    for table in found.tables:
        show_table(table)
    for line in found.sentences:
        console().print(line, markup=False, soft_wrap=True)
    console().print(f"Tables, charts and page: {folder}", markup=False, soft_wrap=True)


def show_plan(plain: dict[str, Any], *, stderr: bool) -> None:
    """One line an audit, and the sum; to stderr when the study follows."""
    from tiltmeter.studies.plan import spoken

    lines = [
        f"  {a['label']}: {a['prompts']:,} prompts ({a['topic']}, {a['contexts']}), "
        + ("done" if a["done"] else spoken(a["seconds"]))
        for a in plain["audits"]
    ]
    lines += [f"  {f['what']}: {spoken(f['seconds'])}" for f in plain["further"]]
    head = (
        f"study {plain['study']}: {plain['prompts']:,} prompts to ask, "
        f"{spoken(plain['seconds'])} (rough: from parameters and this machine's speed)"
    )
    text = "\n".join([head, *lines]) + "\n"
    (sys.stderr if stderr else sys.stdout).write(text)


def show_table(table: Any) -> None:
    """A study's table for people; a long one is a file, and its name is said."""
    if len(table.frame) > _SHOWN:
        line = f"{table.title}: {len(table.frame)} rows in tables/{table.key}.csv"
        console().print(line, markup=False, soft_wrap=True)
        return
    columns = table.combined()
    shown = RichTable(
        title=escape(table.title), title_justify="left", box=box.SIMPLE_HEAD, header_style="bold"
    )
    for c in columns:
        side: Any = "left" if c.is_text else "right"
        shown.add_column(escape(c.heading), justify=side, no_wrap=c.name == "name")
    for row in table.rows():
        shown.add_row(
            *(escape(c.text) + (f"\n{escape(c.interval)}" if c.interval else "") for c in row)
        )
    console().print(shown)
    if table.note:
        console().print(table.note, markup=False, soft_wrap=True)
