"""Runs in every state: which it is, and what can still be shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.present import present
from tests.report.made import made_half

from clinometer.errors import RunError
from clinometer.measure import membership, preference
from clinometer.report import open_run, render_report
from clinometer.runs import Run, RunFolder
from clinometer.runs.folder.cells import cell_words
from clinometer.runs.folder.partial import load_partial, progress
from clinometer.runs.folder.record import find_topic
from clinometer.runs.folder.recover import run_folders
from clinometer.topics import load_topic

Changed = Callable[[str], Path]
pytestmark = pytest.mark.usefixtures("undrawn")


def edit(folder: Path, **changes: Any) -> None:
    file = folder / "run.json"
    record = {**json.loads(file.read_text(encoding="utf-8")), **changes}
    file.write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """500 of 1,200 cells of gender × paper-gender, as an audit leaves them when it is killed."""
    return made_half(tmp_path / "half")


def test_a_half_finished_run_is_measured_on_its_finished_cells(half: Path) -> None:
    opened = open_run(half)
    assert opened.state == "half-finished"
    assert (opened.done, opened.total) == (500, 1200)
    assert "500 of 1,200 cells (42 %)" in opened.notice
    assert "50 of 120 groups" in opened.notice
    run = present(opened.run)
    assert len(run.risks.missing_groups) == 70
    assert run.risks.missing_cells == 700
    # The first cell by hand: Eq. 8 over its stored log-probabilities.
    topic = load_topic("gender")
    first = min((half / "scores").iterdir())
    scores = pq.read_table(first)["log_probs"][0].as_py()
    counts = membership(topic.words, topic.attributes)
    expected = preference(np.array([scores], dtype=np.float32), counts).p[0]
    np.testing.assert_allclose(run.preferences.values[0, 0], expected, rtol=1e-6)
    page = render_report([half])
    assert "half-finished" in page
    assert "Caution: no answer in 700 of 1,200 cells" in page


def test_reading_changes_nothing_on_disk(half: Path) -> None:
    (half / "scores" / "part-000000500.parquet").write_bytes(b"torn")
    before = sorted(
        (f.name, f.stat().st_mtime_ns) for f in half.rglob("*") if f.is_file()
    )
    assert open_run(half).done == 500
    load_partial(half)
    assert before == sorted(
        (f.name, f.stat().st_mtime_ns) for f in half.rglob("*") if f.is_file()
    )


def test_a_half_finished_run_of_a_lost_topic_is_reported(half: Path) -> None:
    record = json.loads((half / "run.json").read_text(encoding="utf-8"))
    edit(half, topic={**record["topic"], "sha256": "0" * 64})
    opened = open_run(half)
    assert opened.state == "half-finished"
    assert opened.run is None
    assert "topic cannot be found again" in opened.notice
    assert "500 of 1,200" in render_report([half])


def test_a_run_without_scores_says_so(half: Path) -> None:
    for file in (half / "scores").iterdir():
        file.unlink()
    opened = open_run(half)
    assert "0 of 1,200 cells" in opened.notice
    assert "expected at least one scored cell" in opened.notice
    assert progress(RunFolder(half), RunFolder(half).read_record()) == (0, 1200)


def test_words_of_a_cell(half: Path) -> None:
    run = load_partial(half)
    words = cell_words(run, 1, 3)
    assert len(words) == 79
    assert sum(w.probability for w in words) == pytest.approx(0.5, rel=1e-4)
    assert words == sorted(words, key=lambda w: -w.probability)
    assert next(w for w in words if w.word == "canary").categories == ("male", "female")
    assert cell_words(run, 119, 9) == []  # not scored yet
    assert find_topic(run.record) is not None


@pytest.mark.parametrize(
    ("version", "said"),
    [(0, "found 0"), (None, "None"), ("1", "--fresh"), (99, "update clinometer")],
)
def test_a_run_of_another_schema_says_so(
    changed: Changed, version: Any, said: str
) -> None:
    folder = changed("old")
    edit(folder, schema_version=version)
    opened = open_run(folder)
    assert (opened.state, opened.run) == ("unreadable", None)
    assert said in opened.notice
    with pytest.raises(RunError, match="schema version"):
        render_report([folder])


@pytest.mark.parametrize("content", ["{", "[]", "", '"x"'])
def test_a_damaged_record_is_named(changed: Changed, content: str) -> None:
    folder = changed("damaged")
    (folder / "run.json").write_text(content, encoding="utf-8")
    assert open_run(folder).state == "unreadable"
    with pytest.raises(RunError, match="damaged"):
        render_report([folder])


def test_damaged_preferences_can_be_rebuilt(changed: Changed, small: Run) -> None:
    folder = changed("torn")
    (folder / "preferences.parquet").write_bytes(b"PAR1 torn")
    opened = open_run(folder)
    assert opened.state == "unreadable"
    assert "preferences.parquet" in opened.notice
    assert "command writes it again from the scores" in opened.notice
    page = render_report([small.path or "", folder])  # beside one that can be read
    assert "damaged" in page
    assert f"{small.risks.R.value:.3f}" in page


def test_what_is_no_run_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        render_report([tmp_path / "nothing"])
    with pytest.raises(RunError, match=r"no run\.json"):
        render_report([tmp_path])


def test_runs_are_found_and_not_looked_into(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/c/inside", ".hidden/d", "e"):
        (tmp_path / name).mkdir(parents=True)
        if name != "e":
            (tmp_path / name / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert run_folders(tmp_path) == [tmp_path / "a", tmp_path / "b" / "c"]
    assert run_folders(tmp_path / "a") == [tmp_path / "a"]
    assert run_folders(tmp_path / "nowhere") == []
