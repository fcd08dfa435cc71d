"""clinometer annotate: people judge statements in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import PORT
from clinometer.cli.printing import console, print_json
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.web.annotation import Store

ENVIRONMENT = "CLINOMETER_DATABASE"


def annotate_command(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET", help="A table (csv, tsv, jsonl, parquet) of what is judged."
        ),
    ],
    mode: Annotated[
        str,
        typer.Option(
            help="blanks: yes or no to the blanks in context_points; rating: 1 to 5 for sentence."
        ),
    ] = "blanks",
    annotators: Annotated[
        int, number_option(ranges.COUNT, "How many people have a link, at least.")
    ] = 3,
    database: Annotated[
        str | None,
        typer.Option(
            help="A SQLite file or postgresql://…; also from CLINOMETER_DATABASE. Default: a file "
            "beside DATASET."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Name of the task in the database. Default: DATASET-MODE.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The column to show instead of the mode's own.")
    ] = None,
    guidelines: Annotated[
        Path | None, typer.Option(help="Your own guidelines: a Markdown file.")
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the judgements to this .csv and stop; no page is served."),
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", help="Export a row a judgement, with the comments.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Print how far everybody is and stop.")
    ] = False,
    port: PORT = 8766,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    public: Annotated[
        str | None,
        typer.Option(help="The address people use, if a proxy stands before: https://…."),
    ] = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="With --status or --export: print one JSON object.")
    ] = False,
) -> None:
    """Let people judge statements in a browser, several at once, each by a personal link.

    Every answer is stored before the next item is shown; the same command continues after a stop.
    Names are never asked. The sentences of bias benchmarks are offensive: people are warned and can
    stop at any time.
    """
    from clinometer.web.annotation import Store, annotation, read_task
    from clinometer.web.annotation.export import write_export
    from clinometer.web.annotation.guidelines import read_guidelines
    from clinometer.web.app import is_loopback, serve

    if public is not None and not public.startswith(("http://", "https://")):
        raise SettingsError(f"--public: expected an address with http:// or https://: {public!r}")
    asked = read_task(dataset, mode=mode, name=task, column=column)
    text = read_guidelines(mode, guidelines)
    place = database or os.environ.get(ENVIRONMENT) or f"{dataset.with_suffix('')}.{mode}.sqlite"
    store = Store(place, asked)
    try:
        if export is not None:
            _report(store, json_output, write_export(store, export, long=long), export)
            return
        if status:
            _report(store, json_output, len(store.judgements()), None)
            return
        people = store.annotators(at_least=annotators)
        secure = public is not None and public.startswith("https://")
        app = annotation(store, guidelines=text, host=host, secure=secure)

        def ready(address: str) -> None:
            out = console()
            base = (public or address).rstrip("/")
            done = store.progress()
            out.print(f"{len(asked.items)} items, one link for each person:", markup=False)
            for person in people:
                far = f"({done[person.number][0]} of {len(asked.items)})"
                link = f"{base}/?token={person.token}"
                out.print(f"annotator {person.number}: {link}  {far}", markup=False, soft_wrap=True)
            if not is_loopback(host) and not secure:
                note = "Links and answers travel unencrypted; a proxy with TLS and --public help."
                out.print(note, markup=False)
            out.print("Ctrl+C ends it; the same command goes on.", markup=False)

        serve(app, host=host, port=port, ready=ready)
    finally:
        store.close()


def _report(store: Store, json_output: bool, count: int, export: Path | None) -> None:
    """How far everybody is; numbers, no names."""
    total = len(store.task.items)
    people = {p.number: p.state for p in store.annotators()}
    rows = [
        {"annotator": n, "state": people[n], "answers": done, "skipped": skipped, "items": total}
        for n, (done, skipped) in store.progress().items()
    ]
    if json_output:
        summary = {"task": store.task.name, "mode": store.task.mode, "items": total}
        shown = {**summary, "judgements": count, "export": None if export is None else str(export)}
        print_json({"summary": shown, "annotators": rows})
        return
    for row in rows:
        console().print(
            f"annotator {row['annotator']}: {row['answers']} of {total}, {row['skipped']} skipped, "
            f"{row['state']}",
            markup=False,
        )
    where = "" if export is None else f" written to {export}"
    console().print(f"{count} judgements{where}", markup=False, soft_wrap=True)
