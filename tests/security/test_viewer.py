"""The viewer over run folders from strangers: one bad run takes no page down, nothing is opened."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.security.fuzzing import budget, spoiled
from tests.security.test_files import CONTENT

from clinometer.contexts import ContextSet
from clinometer.runs import audit
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.partial import find_contexts
from clinometer.runs.folder.record import find_topic
from clinometer.runs.folder.recover import open_run
from clinometer.web import viewer

PAGES = ("/run?id={}", "/report?id={}", "/figure?name=risks&id={}", "/version?id={}")


@pytest.fixture
def root(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "root" / "good")
    return tmp_path / "root"


def check(root: Path, *names: str) -> list[str]:
    """The texts of all pages, none of which fails."""
    addresses = ["/", *(page.format(name) for name in names for page in PAGES)]
    with TestClient(viewer(root), base_url="http://127.0.0.1") as client:
        replies = [client.get(address) for address in addresses]
    for address, reply in zip(addresses, replies, strict=True):
        assert reply.status_code in (200, 400, 404), address
    assert "made:model" in replies[0].text
    return [reply.text for reply in replies]


def bad_run(root: Path, record: bytes) -> None:
    folder = root / "bad"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "good", folder)
    (folder / "run.json").write_bytes(record)


@budget(12)
@given(data=st.data())
def test_a_spoiled_record_takes_no_page_down(
    data: st.DataObject, finished: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(finished, root / "good")
    record = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    bad_run(root, data.draw(spoiled(record)))
    check(root, "bad")


@pytest.mark.parametrize(
    "content", [*CONTENT.values(), b"{}", b'{"schema_version": 1}']
)
def test_a_record_that_is_none_takes_no_page_down(root: Path, content: bytes) -> None:
    bad_run(root, content)
    assert open_run(root / "bad").state == "unreadable"
    check(root, "bad")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("topic", "groups"), 10**12),
        (("contexts", "n"), 10**12),
        (("summary", "R", "value"), "0.5"),
        (("created",), "\x1b[2J"),
        (("model", "id"), "<script>alert(1)</script>"),
        (("status",), "running"),
    ],
)
def test_values_that_make_no_sense(
    root: Path, place: tuple[str, ...], value: Any
) -> None:
    record = json.loads((root / "good" / "run.json").read_text())
    at = record
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    bad_run(root, json.dumps(record).encode())
    assert not any("<script>alert" in text for text in check(root, "bad"))


def test_a_folder_name_that_is_not_utf_8(root: Path) -> None:
    shutil.copytree(root / "good", os.fsdecode(os.fsencode(root) + b"/b\xff\xfed"))
    check(root)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    "name", ["run.json", "groups.parquet", "preferences.parquet", "scores"]
)
def test_a_pipe_in_a_run_folder_does_not_hang(root: Path, name: str) -> None:
    bad_run(root, (root / "good" / "run.json").read_bytes())
    file = root / "bad" / name
    if name == "scores":
        file.mkdir(exist_ok=True)
        file = file / "part-000000000-0123456789abcdef.parquet"
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    check(root, "bad")


@pytest.mark.parametrize("part", ["topic", "contexts"])
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_a_record_does_not_have_paths_opened(
    tmp_path: Path, part: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half-finished run needs its questions again; only built-in names are looked up."""
    contexts = ContextSet(
        "few", ["The [X] said that [Y]", "The [X] felt that [Y]"], [5, 3]
    )
    audit("reference:random", topic="gender", contexts=contexts, out=tmp_path / "run")
    secret = tmp_path / ("secret.toml" if part == "topic" else "secret.csv.gz")
    if kind == "pipe":
        os.mkfifo(secret)
    else:
        secret.write_bytes(b"template,count\nx,1\n")
    folder = RunFolder(tmp_path / "run")
    plain = json.loads(folder.record_file.read_text())
    plain["status"] = "running"
    plain[part]["name"] = str(secret)
    opened: list[str] = []
    original = os.open

    def watched(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(os.fspath(path) if not isinstance(path, int) else "")
        return original(path, *rest, **more)

    monkeypatch.setattr(os, "open", watched)
    for topic in {
        plain["topic"]["name"],
        "unknown",
    }:  # its questions would be looked for first
        other = (
            plain
            if part == "topic"
            else {**plain, "topic": {**plain["topic"], "name": topic}}
        )
        folder.record_file.write_text(json.dumps(other))
        record = folder.read_record()
        assert (
            find_topic(record) if part == "topic" else find_contexts(record)
        ) is None
        assert str(secret) not in map(str, opened)


def test_a_killed_writer_leaves_nothing_for_good(root: Path) -> None:
    folder = RunFolder(root / "good")
    stale = root / "good" / ".run.json.0a1b2c3d.tmp"
    stale.write_text("{")
    with folder.opened(folder.read_record().identity):
        assert not stale.exists()
