"""run.json as strangers may write it: a reader of run folders gives up in one line."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.made import made_run
from tests.security.fuzzing import budget, spoiled

from clinometer.errors import ClinometerError
from clinometer.runs import Run
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.recover import open_run
from clinometer.web.runs_index import RunsIndex


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "run"
    made_run(folder, groups=2, contexts=3, replicates=100)
    return folder


@pytest.fixture(scope="module")
def record(finished: Path) -> dict[str, Any]:
    return dict(json.loads((finished / "run.json").read_text(encoding="utf-8")))


def one_line(error: ClinometerError) -> None:
    assert str(error)
    assert "\n" not in str(error).strip()


@budget(60)
@given(data=st.data())
def test_a_fuzzed_record_is_read_or_refused_in_one_line(
    data: st.DataObject, finished: Path, record: dict[str, Any]
) -> None:
    with _folder() as root:
        folder = root / "run"
        shutil.copytree(finished, folder)
        (folder / "run.json").write_bytes(data.draw(spoiled(record)))
        opened = open_run(folder)  # never an exception
        assert opened.state in ("finished", "damaged", "another schema", "half-finished")
        assert "\n" not in opened.notice
        (entry,) = RunsIndex(root).entries()
        assert entry.id == "run"
        for read in (Run.load, lambda path: RunFolder(path).read_record()):
            try:
                read(folder)
            except ClinometerError as error:
                one_line(error)


def test_a_record_with_the_tables_of_another_is_one_line(
    finished: Path, record: dict[str, Any], tmp_path: Path
) -> None:
    """Found by the fuzzer above: a category more or less than the tables have."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    attributes = record["topic"]["attributes"]
    for changed in ({}, dict(list(attributes.items())[:1]), {**attributes, "third": ["x"]}):
        plain = {**record, "topic": {**record["topic"], "attributes": changed}}
        (folder / "run.json").write_text(json.dumps(plain), encoding="utf-8")
        with pytest.raises(ClinometerError) as caught:
            Run.load(folder)
        one_line(caught.value)
        assert open_run(folder).state == "damaged"
