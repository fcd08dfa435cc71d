"""clinometer reliability annotate: people judge statements in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer import settings as ranges
from clinometer.cli.options import argument, port_option
from clinometer.cli.printing import print_json, say, sentence
from clinometer.errors import SettingsError
from clinometer.models.providers import is_loopback
from clinometer.settings import option
from clinometer.storage.frames import write_frame

if TYPE_CHECKING:
    from clinometer.web.annotation.store import Annotator, Store


def annotate_command(
    dataset: Path = argument(
        "DATASET", "The table to annotate (csv, tsv, jsonl, parquet)."
    ),
    mode: str | None = option(
        None,
        help="blanks: accept or reject blanks in context_points; rating: rate sentence 1 to 5; "
        "category: say which of --categories a reply is.",
        unset="blanks, or rating where there are none",
    ),
    categories: str | None = option(
        None, help="With --mode category: their names, as in yes,no; other is added."
    ),
    annotators: int = option(
        3, help="Minimum number of personal links.", allowed=ranges.COUNT
    ),
    database: Path | None = option(
        None, help="The SQLite file of the judgements.", unset="a file beside DATASET"
    ),
    column: str | None = option(
        None, help="The column to show.", unset="the mode's own"
    ),
    guidelines: Path | None = option(
        None, help="A Markdown file with guidelines.", unset="built-in ones"
    ),
    export: Path | None = option(
        None, help="Write the judgements to this .csv file and exit."
    ),
    long: bool = option(False, help="Export one row per judgement, with comments."),
    status: bool = option(False, help="Print each annotator's progress and exit."),
    port: int = port_option(8766),
    host: str = option("127.0.0.1", help="Address to listen on."),
    public: str | None = option(
        None, help="The public address if the server is behind a proxy: https://…."
    ),
    json_output: bool = option(
        False, "--json", help="With --status or --export: print one JSON object."
    ),
) -> None:
    """Let several people judge statements in a browser, each with a personal link.

    Every answer is stored before the next item is shown; rerun the same command to resume. Names
    are never collected. Sentences in bias benchmarks are offensive: annotators are warned and can
    stop at any time.
    """
    from clinometer.web.annotation.export import export_table
    from clinometer.web.annotation.pages import annotation, read_guidelines
    from clinometer.web.annotation.store import Store
    from clinometer.web.annotation.task import read_task
    from clinometer.web.serve import serve

    if public is not None and not public.startswith(("http://", "https://")):
        raise SettingsError(
            f"--public: expected an address with http:// or https://: {public!r}"
        )
    if str(database).partition("/")[0].endswith(":"):  # it may hold a password
        raise SettingsError("--database: expected a SQLite file, found an address")
    names = [name.strip() for name in (categories or "").split(",") if name.strip()]
    task = read_task(dataset, mode=mode, column=column, categories=names)
    if mode is None and task.mode == "rating":
        say(
            f"{dataset} has no blanks, so people rate its sentences; 'clinometer reliability audit "
            "--until points' proposes blanks"
        )
    text = read_guidelines(task.mode, guidelines)
    default_database = Path(f"{dataset.with_suffix('')}.{task.mode}.sqlite")
    store = Store(database or default_database, task)
    try:
        if export is not None:
            write_frame(export_table(store, long=long), export)
        if export is not None or status:
            _print_status(store, json_output, export)
            return
        people = store.annotators(at_least=annotators)
        secure = public is not None and public.startswith("https://")
        app = annotation(store, guidelines=text, host=host, secure=secure)

        def ready(address: str) -> None:
            _print_links(store, people, public or address)
            if not is_loopback(host) and not secure:
                sentence(
                    "Links and answers travel unencrypted; a proxy with TLS and --public help."
                )
            sentence("Ctrl+C stops it; rerun the same command to resume.")

        serve(app, host=host, port=port, ready=ready)
    finally:
        store.close()


def _print_links(store: Store, people: list[Annotator], address: str) -> None:
    """Print the personal link of each annotator."""
    base = address.rstrip("/")
    items = len(store.task.items)
    sentence(f"{items} items, one link for each person:")
    for person in people:
        done = store.standing(person).done
        link = f"{base}/?token={person.token}"
        sentence(f"annotator {person.number}: {link}  ({done} of {items})")


def _print_status(store: Store, json_output: bool, export: Path | None) -> None:
    """Print each annotator's progress; numbers, not names."""
    items = len(store.task.items)
    judgements = len(store.judgements())
    rows = [_progress(store, person) for person in store.annotators()]
    if json_output:
        summary = {
            "mode": store.task.mode,
            "items": items,
            "judgements": judgements,
            "export": None if export is None else str(export),
        }
        print_json({"summary": summary, "annotators": rows})
        return
    for row in rows:
        sentence(
            f"annotator {row['annotator']}: {row['answers']} of {items}, {row['skipped']} skipped, "
            f"{row['state']}"
        )
    where = "" if export is None else f" written to {export}"
    sentence(f"{judgements} judgements{where}")


def _progress(store: Store, person: Annotator) -> dict[str, Any]:
    """Return how far an annotator is."""
    from clinometer.web.annotation.questions import SKIP

    answers = store.answers(person)
    return {
        "annotator": person.number,
        "state": person.state,
        "answers": len(answers),
        "skipped": sum(answer.value == SKIP for answer in answers),
        "items": len(store.task.items),
    }
