"""clinometer reliability annotate: people judge statements in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer import settings as ranges
from clinometer.cli.help import PORT, opt
from clinometer.cli.printing import print_json, say, sentence
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.web.annotation import Store


def annotate_command(
    dataset: Annotated[
        Path,
        typer.Argument(metavar="DATASET", help="The table to annotate (csv, tsv, jsonl, parquet)."),
    ],
    mode: Annotated[
        str | None,
        opt(
            "blanks: accept or reject blanks in context_points; rating: rate sentence 1 to 5; "
            "category: say which of --categories a reply is.",
            unset="blanks, or rating where there are none",
        ),
    ] = None,
    categories: Annotated[
        str | None, opt("With --mode category: their names, as in yes,no; other is added.")
    ] = None,
    annotators: Annotated[int, opt("Minimum number of personal links.", allowed=ranges.COUNT)] = 3,
    database: Annotated[
        Path | None,
        opt("The SQLite file of the judgements.", unset="a file beside DATASET"),
    ] = None,
    task: Annotated[
        str | None, opt("Name of the task in the database.", unset="DATASET-MODE")
    ] = None,
    column: Annotated[str | None, opt("The column to show.", unset="the mode's own")] = None,
    guidelines: Annotated[
        Path | None, opt("A Markdown file with guidelines.", unset="built-in ones")
    ] = None,
    export: Annotated[Path | None, opt("Write the judgements to this .csv file and exit.")] = None,
    long: Annotated[bool, opt("Export one row per judgement, with comments.", "--long")] = False,
    status: Annotated[bool, opt("Print each annotator's progress and exit.", "--status")] = False,
    port: PORT = 8766,
    host: Annotated[str, opt("Address to listen on.")] = "127.0.0.1",
    public: Annotated[
        str | None, opt("The public address if the server is behind a proxy: https://….")
    ] = None,
    json_output: Annotated[
        bool, opt("With --status or --export: print one JSON object.", "--json")
    ] = False,
) -> None:
    """Let several people judge statements in a browser, each with a personal link.

    Every answer is stored before the next item is shown; rerun the same command to resume. Names
    are never collected. Sentences in bias benchmarks are offensive: annotators are warned and can
    stop at any time.
    """
    from clinometer.models.providers import is_loopback
    from clinometer.web.annotation import Store, annotation, read_task
    from clinometer.web.annotation.pages import read_guidelines
    from clinometer.web.annotation.store import write_export
    from clinometer.web.app import serve

    if public is not None and not public.startswith(("http://", "https://")):
        raise SettingsError(f"--public: expected an address with http:// or https://: {public!r}")
    if str(database).partition("/")[0].endswith(":"):  # it may hold a password
        raise SettingsError("--database: expected a SQLite file, found an address")
    named = [] if categories is None else [c.strip() for c in categories.split(",") if c.strip()]
    asked = read_task(dataset, mode=mode, name=task, column=column, categories=named)
    if mode is None and asked.mode == "rating":
        say(
            f"{dataset} has no blanks, so people rate its sentences; 'clinometer reliability audit "
            "--until points' proposes blanks"
        )
    text = read_guidelines(asked.mode, guidelines)
    beside = Path(f"{dataset.with_suffix('')}.{asked.mode}.sqlite")
    store = Store(database or beside, asked)
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
            base = (public or address).rstrip("/")
            done = store.progress()
            sentence(f"{len(asked.items)} items, one link for each person:")
            for person in people:
                far = f"({done[person.number][0]} of {len(asked.items)})"
                link = f"{base}/?token={person.token}"
                sentence(f"annotator {person.number}: {link}  {far}")
            if not is_loopback(host) and not secure:
                sentence(
                    "Links and answers travel unencrypted; a proxy with TLS and --public help."
                )
            sentence("Ctrl+C stops it; rerun the same command to resume.")

        serve(app, host=host, port=port, ready=ready)
    finally:
        store.close()


def _report(store: Store, json_output: bool, count: int, export: Path | None) -> None:
    """Each annotator's progress; numbers, not names."""
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
        sentence(
            f"annotator {row['annotator']}: {row['answers']} of {total}, {row['skipped']} skipped, "
            f"{row['state']}"
        )
    where = "" if export is None else f" written to {export}"
    sentence(f"{count} judgements{where}")
