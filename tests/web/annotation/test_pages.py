"""Pages as a program asks for them: who may see and change what."""

from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.annotate import intact, simulate
from starlette.testclient import TestClient
from tests.models.server.http import serving
from tests.present import present
from tests.web.annotation.conftest import HOSTILE

from clinometer.errors import SettingsError
from clinometer.reliability.agreement import agreement
from clinometer.reliability.ratings import read_ratings
from clinometer.storage.frames import write_frame
from clinometer.web.annotation.export import export_table
from clinometer.web.annotation.pages import annotation, read_guidelines
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import read_task
from clinometer.web.app import MOST_FORM


@pytest.fixture
def store(dataset: Path, database: Path) -> Iterator[Store]:
    found = Store(database, read_task(dataset))
    yield found
    found.close()


def come(store: Store, number: int, *, begin: bool = True) -> TestClient:
    """A browser of an annotator."""
    person = store.annotators(at_least=number)[number - 1]
    client = TestClient(
        annotation(store, guidelines=read_guidelines("blanks")),
        base_url="http://127.0.0.1",
    )
    client.get(f"/?token={person.token}")
    if begin:
        client.post("/begin")
    return client


def said(store: Store) -> dict[tuple[int, int], str]:
    return {(j.annotator, j.place): j.value for j in store.judgements()}


def test_a_wrong_token_gets_403(store: Store) -> None:
    client = TestClient(annotation(store, guidelines=""), base_url="http://127.0.0.1")
    store.annotators(at_least=1)
    assert store.annotator("\ud800") is None  # which a database cannot be asked for
    for path in ("/", "/judge", "/answers", "/stop"):
        assert client.get(path).status_code == 403, path
    for path in ("/begin", "/judge", "/undo", "/stop"):
        assert (
            client.post(path, data={"item": "0", "value": "yes"}).status_code == 403
        ), path
    for token in (
        "wrong",
        "\U0001f642",
        "\0",
        "a\0b",
        "x" * 10_000,
        "' OR 1=1 --",
        "é",
        "%00",
    ):
        assert client.get("/", params={"token": token}).status_code == 403, token
        cookie = f"clinometer-annotator={token}".encode().replace(b"\0", b"%00")
        assert client.get("/judge", headers={b"Cookie": cookie}).status_code == 403, (
            token
        )
    assert store.judgements() == []
    others = TestClient(
        annotation(store, guidelines="", host="0.0.0.0"),  # noqa: S104
        base_url="http://127.0.0.1",
    )
    assert others.get("/").status_code == 403
    assert others.get(f"/?token={store.annotators()[0].token}x").status_code == 403
    assert others.get(f"/?token={store.annotators()[0].token}").status_code == 200


def test_the_warning_comes_first(store: Store) -> None:
    client = come(store, 1, begin=False)
    page = client.get("/judge")
    assert "The sentences are offensive." in page.text
    assert client.post("/judge", data={"item": "0", "value": "yes"}).status_code == 403
    client.post("/begin")
    assert 'h1 class="sentence"' in client.get("/judge").text


def test_annotators_cannot_read_or_change_each_others_answers(store: Store) -> None:
    first, second = come(store, 1), come(store, 2)
    first.post("/judge", data={"item": "3", "value": "no", "comment": "mine alone"})
    assert "mine alone" in first.get("/answers").text
    assert "mine alone" not in second.get("/answers").text
    assert "mine alone" not in second.get("/judge?item=3").text
    second.post("/judge", data={"item": "3", "value": "yes"})
    second.post("/undo", data={"item": "3"})
    second.post("/judge", data={"item": "3", "value": "skip", "annotator": "1"})
    second.post("/stop", data={"answers": "delete"})
    assert said(store) == {(1, 3): "no"}


def test_a_repeated_answer_counts_once_and_can_be_changed_and_undone(
    store: Store,
) -> None:
    client = come(store, 1)
    for value in ("yes", "yes", "no"):
        assert (
            client.post("/judge", data={"item": "0", "value": value}).status_code == 200
        )
    assert said(store) == {(1, 0): "no"}
    for _ in range(2):
        assert client.post("/undo", data={"item": "0"}).url.path == "/judge"
    assert said(store) == {}


def test_invalid_answers_are_refused(store: Store) -> None:
    client = come(store, 1)
    half: Any = "\ud800".encode("utf-8", "surrogatepass")
    for item in ("99", "9" * 5000, "-1", "1e3", "٣", "²", "\0", half):
        assert client.get("/judge", params={"item": item}).status_code == 404
        for path in ("/judge", "/undo"):
            assert (
                client.post(path, data={"item": item, "value": "yes"}).status_code
                == 404
            )
    for odd in (
        {"value": "maybe"},
        {"value": ""},
        {"value": "yes", "comment": "x" * 2001},
    ):
        assert client.post("/judge", data={"item": "0", **odd}).status_code == 400
    assert client.post("/stop", data={"answers": "what"}).status_code == 400
    client.post("/judge", data={"item": "0", "value": "yes", "comment": "a\0b"})
    assert store.judgements()[0].comment == "ab"


def test_a_form_from_another_page_is_refused(store: Store) -> None:
    client = come(store, 1)
    data = {"item": "0", "value": "yes"}
    for headers in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://elsewhere"},
        {"origin": "null"},
    ):
        assert client.post("/judge", data=data, headers=headers).status_code == 403
    assert said(store) == {}


@pytest.mark.parametrize(
    "host", ["testserver", "evil.example", "127.0.0.1.evil.example", ""]
)
def test_other_hosts_get_nothing(store: Store, host: str) -> None:
    assert come(store, 1).get("/judge", headers={"Host": host}).status_code == 400


def test_a_large_body_is_refused_by_its_headers(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No byte of it is waited for, read or written to the disk."""
    spooled: list[object] = []
    monkeypatch.setattr(
        tempfile, "SpooledTemporaryFile", lambda *a, **k: spooled.append(a)
    )
    heads = {
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 100": 415,
        "Content-Type: application/json\r\nContent-Length: 100": 415,
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {MOST_FORM + 1}": 413,
        "Content-Type: multipart/form-data; boundary=y\r\nContent-Length: 200000000": 413,
        "Transfer-Encoding: chunked": 411,
    }
    with serving(annotation(store, guidelines="")) as address:
        host, port = address.removeprefix("http://").split(":")
        for head, status in heads.items():
            with socket.create_connection((host, int(port)), timeout=10) as raw:
                raw.sendall(
                    f"POST /judge HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n".encode()
                )
                assert raw.recv(100).split()[1] == str(status).encode()
    assert spooled == []


def test_nobody_answers_as_another_without_a_word(store: Store) -> None:
    """A page elsewhere can open any link in a browser that is already at work."""
    client, other = come(store, 1), store.annotators(at_least=2)[1]
    asked = client.get(
        f"/?token={other.token}", headers={"sec-fetch-site": "cross-site"}
    )
    assert 'action="/switch"' in asked.text
    client.post("/judge", data={"item": "0", "value": "yes"})
    assert said(store) == {(1, 0): "yes"}
    data = {"token": other.token}
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "http://elsewhere"}):
        assert client.post("/switch", data=data, headers=headers).status_code == 403
    assert client.post("/switch", data={"token": "wrong"}).status_code == 403
    client.post("/switch", data=data)
    client.post("/begin")
    client.post("/judge", data={"item": "0", "value": "no"})
    assert said(store) == {(1, 0): "yes", (2, 0): "no"}


def test_hostile_texts_are_shown_as_text(store: Store) -> None:
    client = come(store, 1)
    client.post("/judge", data={"item": "0", "value": "no", "comment": HOSTILE})
    for path in ("/judge?item=0", "/answers"):
        page = client.get(path)
        assert "&lt;img src=x" in page.text
        assert "<img" not in page.text
        assert not re.search(r"<script(?! src=\"/static/)", page.text)
        assert "[U+202E]" in page.text
        assert "script-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(("answers", "left"), [("keep", 1), ("delete", 0)])
def test_annotators_can_stop_at_any_time_and_resume(
    store: Store, answers: str, left: int
) -> None:
    client = come(store, 1)
    client.post("/judge", data={"item": "0", "value": "yes"})
    assert "Thank you" in client.post("/stop", data={"answers": answers}).text
    assert len(store.judgements()) == left
    assert client.post("/judge", data={"item": "1", "value": "yes"}).status_code == 403
    person = store.annotators()[0]
    with pytest.raises(
        SettingsError, match="expected at work"
    ):  # an answer that was under way
        store.judge(person, 1, "yes")
    assert len(store.judgements()) == left
    client.post("/begin")
    client.post("/judge", data={"item": "1", "value": "yes"})
    assert len(store.judgements()) == left + 1


def test_the_export_has_numbers_and_no_names_or_tokens(
    store: Store, tmp_path: Path
) -> None:
    for number, value in ((1, "yes"), (2, "no"), (3, "skip")):
        come(store, number).post(
            "/judge",
            data={"item": "2", "value": value, "comment": '=1+1, "so"\nhe said'},
        )
    rows = export_table(store).to_dict("records")
    assert list(rows[2]) == [
        "id",
        "context_points",
        "annotator_1",
        "annotator_2",
        "annotator_3",
    ]
    assert list(rows[2].values())[2:] == ["yes", "no", ""]
    assert len(rows) == 20
    assert export_table(store, long=True)["comment"].iloc[0].startswith("=1+1")
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    write_frame(export_table(store), wide)
    write_frame(export_table(store, long=True), long)
    assert "\"'=1+1," in long.read_text()
    for path in (wide, long):
        text = path.read_text(encoding="utf-8")
        assert all(p.token not in text for p in store.annotators())
        found = agreement(read_ratings(path))
        assert found.judgements == 2
        assert present(found.observed).value == 0.0


def test_ratings_say_what_a_high_one_means(dataset: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "ratings.db", read_task(dataset, mode="rating"))
    assert "5 enough" in come(store, 1).get("/").text
    come(store, 1).post("/judge", data={"item": "0", "value": "5"})
    for long in (False, True):
        write_frame(export_table(store, long=long), tmp_path / "ratings.csv")
        assert read_ratings(tmp_path / "ratings.csv").high == "enough"
    store.close()


def test_tokens_are_stable_and_more_people_can_join(
    store: Store, database: Path
) -> None:
    before = store.annotators(at_least=2)
    again = Store(database, store.task)
    after = again.annotators(at_least=4)
    again.close()
    assert after[:2] == before
    assert len({p.token for p in after}) == 4


def test_fifty_people_at_once_lose_and_duplicate_nothing(
    database: Path, tmp_path: Path
) -> None:
    """Four seconds of it; benchmarks/annotate.py does it for a minute, with a kill."""
    found = simulate(tmp_path, people=50, seconds=4, kill_at=0, database=str(database))
    assert intact(found), found
    assert found["answered"] >= 50
    assert found["stored"] == found["answered"] - found["undone"]
