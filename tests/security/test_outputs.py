"""What a command writes over: its former results, and nothing else; and that nothing in it runs."""

from __future__ import annotations

import base64
import csv
import io
import os
import shutil
import stat
import threading
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from tests.command import Clinometer
from tests.report.made import made_run

from clinometer.contexts import ContextSet
from clinometer.errors import InputError
from clinometer.report.page import write_report
from clinometer.storage.atomic import output_file
from clinometer.storage.frames import write_frame
from clinometer.storage.rows import csv_text, is_number, read_rows
from clinometer.web.annotation.export import export_table
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import Item, Task

#: Options that name a file to write; every command writes through the same two functions.
WRITERS: dict[str, tuple[str, ...]] = {
    "report": ("report", "RUN", "--out"),
    "gate": ("gate", "RUN", "--baseline", "RUN", "--markdown"),
}


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def write(clinometer: Clinometer, name: str, run: Path, target: Path) -> str:
    command = [str(run) if word == "RUN" else word for word in WRITERS[name]]
    return clinometer(*command, target).err


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "file", ["run.json", "preferences.parquet", "a link", "notes.md"]
)
def test_no_command_writes_over_what_it_did_not_write(
    name: str, file: str, clinometer: Clinometer, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("Dear diary\n", encoding="utf-8")
    (tmp_path / "link.md").symlink_to(run / "run.json")
    target = {"a link": tmp_path / "link.md", "notes.md": tmp_path / "notes.md"}.get(
        file, run / file
    )
    before = target.read_bytes()
    said = write(clinometer, name, run, target)
    assert target.read_bytes() == before
    no_format = name == "report" and target.suffix == ".parquet"
    assert ("ends in" if no_format else "name another file") in " ".join(said.split())
    assert target.is_symlink() == (file == "a link")


@pytest.mark.parametrize("name", WRITERS)
def test_a_second_time_replaces_the_first(
    name: str, clinometer: Clinometer, run: Path, tmp_path: Path
) -> None:
    link, target = tmp_path / "link.md", tmp_path / "target.md"
    link.symlink_to(target)
    for _ in range(2):
        write(clinometer, name, run, link)
        assert link.is_symlink()
        assert target.stat().st_size > 100


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_and_a_device_are_written_to_and_stay(
    name: str, clinometer: Clinometer, run: Path, tmp_path: Path
) -> None:
    pipe, read = tmp_path / "pipe.md", bytearray()
    os.mkfifo(pipe)
    reader = threading.Thread(
        target=lambda: read.extend(pipe.read_bytes()), daemon=True
    )
    reader.start()
    write(clinometer, name, run, pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)  # else its reader waits for ever
    reader.join()
    assert len(read) > 100
    write(clinometer, name, run, Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    ended = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(ended, 0)
    for number in (ended, os.getpid()):
        (tmp_path / f".page.html.{number}-0123abcd.tmp").write_text("half")
    with output_file(tmp_path / "page.html") as beside:
        beside.write_text("<!doctype html>")
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"page.html", f".page.html.{os.getpid()}-0123abcd.tmp"}


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (b"", b"<!doctype html>", False),
        (b"<!DOCTYPE html><p>old", b"<!doctype html><p>new", False),
        (b"id,ann\n1,2\n", b"id,ann,bob\n1,2,3\n", False),
        (b"name,x\n", b"id,x\n", True),
        (b'{"a": 1}', b"<!doctype html>", True),
        (b"\x89PNG old", b"\x89PNG new", False),
        (b"#!/bin/sh\n", b"id,x\n", True),
    ],
)
def test_a_file_is_known_by_its_beginning(
    before: bytes, after: bytes, kept: bool, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(before)
    refused = (
        pytest.raises(InputError, match="name another file") if kept else nullcontext()
    )
    with refused, output_file(file) as beside:
        beside.write_bytes(after)
    assert file.read_bytes() == (before if kept else after)


class _Links(HTMLParser):
    """Where the links of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.places += [
            value or "" for name, value in attrs if tag == "a" and "href" in name
        ]


def test_names_lead_nowhere_and_no_file_for_spreadsheets_runs_them(
    tmp_path: Path,
) -> None:
    """Names of models, groups, categories and columns: links stay on their page, and no cell or
    head of a csv file, also of those in the page, begins like a formula."""
    name = "javascript:alert(1)"
    run = made_run(tmp_path / "run", groups=9, contexts=20, hostile=True, model=name)
    write_report([run], tmp_path / "x.html")
    links = _Links()
    links.feed((tmp_path / "x.html").read_text(encoding="utf-8"))
    data = [
        place.partition("base64,")[2]
        for place in links.places
        if place.startswith("data:")
    ]
    assert all(
        place.startswith(("#", "data:text/csv;base64,")) for place in links.places
    )
    write_report([run], tmp_path / "x.csv")
    frame = pd.DataFrame({"=cmd()": ["=cmd()", " @x"], "@y": ["-1.5", "+1+1"]})
    texts = [base64.b64decode(one).decode() for one in data]
    texts += [
        csv_text(frame),
        *(file.read_text("utf-8") for file in tmp_path.glob("x-*.csv")),
    ]
    cells = [
        cell for text in texts for row in csv.reader(io.StringIO(text)) for cell in row
    ]
    assert data
    assert "'=cmd()" in cells
    assert not [
        c for c in cells if c.startswith(tuple("=+-@\t\r")) and not is_number(c)
    ]


# --- formulas, which a spreadsheet would run ------------------------------------------------------

FORMULAS = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'=1",
    "''+x",
)


def formulas(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            c
            for row in csv.reader(stream)
            for c in row
            if c.startswith(tuple("=+-@\t\r"))
        ]


@pytest.mark.parametrize("long", [True, False])
def test_no_formula_leaves_annotate(long: bool, tmp_path: Path) -> None:
    items = tuple(
        Item(f"=id{i}", f"{text} ____", ()) for i, text in enumerate(FORMULAS)
    )
    store, out = (
        Store(tmp_path / "j.sqlite", Task("rating", items)),
        tmp_path / "out.csv",
    )
    (person,) = store.annotators(1)
    store.begin(person)
    for place, text in enumerate(FORMULAS):
        store.judge(person, place, "1", text)
    write_frame(export_table(store, long=long), out)
    store.close()
    assert formulas(out) == []
    assert [(r["id"], r["sentence"]) for r in read_rows(out)] == [
        (i.id, i.text) for i in items
    ]


def test_no_formula_leaves_a_context_set(tmp_path: Path) -> None:
    templates = [f"{text} [X] and [Y]".strip() for text in FORMULAS]
    saved = ContextSet("s", templates, range(1, 9), {"source": list(FORMULAS)})
    saved.save(tmp_path / "s.csv")
    assert formulas(tmp_path / "s.csv") == []
    loaded = ContextSet.load(tmp_path / "s.csv")
    assert loaded.sha256 == saved.sha256
    assert dict(loaded.extra) == dict(saved.extra)


def test_no_formula_leaves_statements(clinometer: Clinometer, tmp_path: Path) -> None:
    source = tmp_path / "mine.csv"
    sentences = pd.Series(
        [f"{f.strip()} nurses are here" for f in FORMULAS], name="sentence"
    )
    sentences.to_csv(source, index_label="id")
    out = tmp_path / "audit"
    result = clinometer(
        "reliability", "audit", source, "--until", "statements", "--out", out
    )
    assert result.status == 0, result.err
    assert formulas(out / "statements.csv") == []
