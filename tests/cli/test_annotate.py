"""clinometer reliability annotate without its server: status, export, and errors in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clinometer.web.annotation import Store, read_task

Command = Callable[..., Any]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "few.csv"
    path.write_text("id,context_points\na,One ___.\nb,Two ___.\n", encoding="utf-8")
    return path


def judged(dataset: Path) -> None:
    store = Store(dataset.with_suffix(".blanks.sqlite"), read_task(dataset))
    first, second = store.annotators(at_least=2)
    store.begin(first)
    store.begin(second)
    store.judge(first, 0, "yes")
    store.judge(first, 1, "skip")
    store.judge(second, 0, "no", "why")
    store.close()


def test_status_and_export(clinometer: Command, dataset: Path, tmp_path: Path) -> None:
    judged(dataset)
    found = json.loads(clinometer("reliability", "annotate", dataset, "--status", "--json").out)
    assert found["summary"]["judgements"] == 3
    assert found["annotators"][0] == {
        "annotator": 1,
        "state": "active",
        "answers": 2,
        "skipped": 1,
        "items": 2,
    }
    out = tmp_path / "out.csv"
    assert (
        "3 judgements written to"
        in clinometer("reliability", "annotate", dataset, "--export", out).out
    )
    assert out.read_text() == (
        "id,context_points,annotator_1,annotator_2\na,One ___.,yes,no\nb,Two ___.,,\n"
    )
    clinometer("reliability", "annotate", dataset, "--export", out, "--long")
    assert out.read_text().splitlines()[-1] == "b,Two ___.,annotator_1,skip,"


def test_the_database_may_have_any_name(clinometer: Command, dataset: Path, tmp_path: Path) -> None:
    place = tmp_path / "a strange? name%20.sqlite"
    done = clinometer("reliability", "annotate", dataset, "--status", "--database", place)
    assert done.status == 0
    assert place.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mode", "rating"), "expected a column 'sentence', found id, context_points"),
        (("--mode", "stars"), "expected blanks, rating, category"),
        (("--annotators", "0"), "--annotators: expected a whole number of at least 1, found 0"),
        (("--public", "example.org"), "--public: expected an address with http"),
        (("--database", "oracle://me:secret@x/y"), "expected a SQLite file, found an address\n"),
        (("--guidelines", "nowhere.md"), "nowhere.md: no such file"),
        (("--export", "out.xlsx"), "expected a file name that ends in .csv"),
    ],
)
def test_errors_are_one_line(
    clinometer: Command, dataset: Path, options: tuple[str, ...], said: str
) -> None:
    done = clinometer("reliability", "annotate", dataset, *options)
    assert done.status == 2
    assert said in done.err
    assert done.err.count("\n") == 1
