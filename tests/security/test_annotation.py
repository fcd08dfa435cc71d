"""The annotation server and its export, attacked: one sentence, never a 500, nothing spooled."""

from __future__ import annotations

import csv
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from starlette.testclient import TestClient
from tests.command import Clinometer
from tests.security.serving import serving

from clinometer.cli.reliability import write_frame
from clinometer.contexts import ContextSet
from clinometer.errors import TableError
from clinometer.storage.rows import read_rows
from clinometer.web.annotation.pages import annotation
from clinometer.web.annotation.store import Item, Store, Task, export_table, read_task
from clinometer.web.app import MOST_FORM

FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''+x")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    items = tuple(Item(f"=id{i}", f"{text} ____", ()) for i, text in enumerate(FORMULAS))
    made = Store(tmp_path / "j.sqlite", Task("rating", items))
    yield made
    made.close()


@pytest.fixture
def client(store: Store) -> TestClient:
    person = store.annotators(1)[0]
    app = annotation(store, guidelines="")
    found = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    found.get("/", params={"token": person.token})
    found.post("/begin")
    return found


@pytest.mark.parametrize(
    "item", ["9" * 5000, "-1", "1e3", "٣", "²", "\0", "\ud800".encode("utf-8", "surrogatepass")]
)
def test_invalid_items(client: TestClient, item: str) -> None:
    assert client.get("/judge", params={"item": item}).status_code == 404
    assert client.post("/undo", data={"item": item}).status_code == 404


@pytest.mark.parametrize("token", ["\0", "a\0b", "x" * 10_000, "' OR 1=1 --", "é", "%00"])
def test_invalid_tokens(client: TestClient, token: str) -> None:
    assert client.get("/", params={"token": token}).status_code == 403
    cookie = {b"Cookie": f"clinometer-annotator={token}".encode().replace(b"\0", b"%00")}
    fresh = TestClient(client.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    assert fresh.get("/", headers=cookie).status_code == 403


def test_a_large_body_is_refused_by_its_headers(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No byte of it is waited for, read or written to the disk."""
    spooled: list[object] = []
    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda *a, **k: spooled.append(a))
    heads = {
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 100": 415,
        "Content-Type: application/json\r\nContent-Length: 100": 415,
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {MOST_FORM + 1}": 413,
        "Content-Type: multipart/form-data; boundary=y\r\nContent-Length: 200000000": 413,
        "Transfer-Encoding: chunked": 411,
    }
    with serving(annotation(store, guidelines="")) as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        for head, status in heads.items():
            with socket.create_connection((host, int(port)), timeout=10) as raw:
                raw.sendall(f"POST /judge HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n".encode())
                assert raw.recv(100).split()[1] == str(status).encode()
    assert spooled == []


@pytest.mark.parametrize("host", ["testserver", "evil.example", "127.0.0.1.evil.example", ""])
def test_other_hosts_get_nothing(client: TestClient, host: str) -> None:
    assert client.get("/judge", headers={"Host": host}).status_code == 400


def test_an_answer_that_is_given_again_is_the_last(store: Store) -> None:
    person = store.annotators(1)[0]
    store.begin(person)
    for place in (3, 0, 5):
        store.judge(person, place, "1")
    assert store.standing(person).last == 5
    store.judge(person, 3, "2")
    assert store.standing(person).last == 3
    assert [j.place for j in store.answers(person)] == [0, 5, 3]


def formulas(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        return [c for row in csv.reader(stream) for c in row if c.startswith(tuple("=+-@\t\r"))]


@pytest.mark.parametrize("long", [True, False])
def test_no_formula_leaves_annotate(store: Store, long: bool, tmp_path: Path) -> None:
    person = store.annotators(1)[0]
    store.begin(person)
    for place, text in enumerate(FORMULAS):
        store.judge(person, place, "1", text)
    write_frame(export_table(store, long=long), tmp_path / "out.csv")
    assert formulas(tmp_path / "out.csv") == []
    rows = list(read_rows(tmp_path / "out.csv"))
    assert [r["id"] for r in rows] == [i.id for i in store.task.items]
    assert [r["sentence"] for r in rows] == [i.text for i in store.task.items]


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
    sentences = pd.Series([f"{f.strip()} nurses are here" for f in FORMULAS], name="sentence")
    sentences.to_csv(source, index_label="id")
    out = tmp_path / "audit"
    result = clinometer("reliability", "audit", source, "--until", "statements", "--out", out)
    assert result.status == 0, result.err
    assert formulas(out / "statements.csv") == []


def test_half_of_a_character_in_a_dataset_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text('{"id": "a", "sentence": "x \\ud800 y"}\n', encoding="utf-8")
    with pytest.raises(TableError, match=r"line 1: .*half of a pair"):
        read_task(file, mode="rating")
