"""Logs of Inspect that name code and addresses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.command import Clinometer
from tests.security import hostile
from tests.security.fuzzing import fuzzer, spoiled

from clinometer.bridges.inspect import import_inspect
from clinometer.errors import SettingsError

pytest.importorskip("inspect_ai")
NAMED = [
    pytest.param(name, table, id=f"{table['by']} {name}")
    for name, table in hostile.readouts("http://127.0.0.1:9")
]


@pytest.mark.parametrize(("name", "table"), NAMED)
def test_no_log_has_code_run_or_others_asked(
    name: str, table: dict[str, str], clinometer: Clinometer, tmp_path: Path
) -> None:
    log = hostile.write_log(tmp_path / "log.json", table)
    said = clinometer("import", "inspect", log, "--out", tmp_path / "o").err
    wanted = "--allow code:" if table["by"] == "function" else "--allow model:"
    assert f"{wanted}{name}" in " ".join(said.split())


def test_no_setting_has_the_code_of_a_log_run(tmp_path: Path) -> None:
    log = hostile.write_log(
        tmp_path / "log.json", {"by": "function", "function": "os:system"}
    )
    with pytest.raises(SettingsError, match="is code, which no file can have run"):
        import_inspect(log, allow=("code:os:system",))


def with_cell(cell: Any) -> Callable[[dict[str, Any]], object]:
    return lambda log: log["samples"][0]["metadata"].update(cell=cell)


ODD: dict[str, Callable[[dict[str, Any]], object]] = {
    "no ids": lambda log: log["eval"]["dataset"].pop("sample_ids"),
    "null ids": lambda log: log["eval"]["dataset"].update(sample_ids=None),
    "other ids": lambda log: log["eval"]["dataset"].update(sample_ids=[99, "x"]),
    "no metadata": lambda log: log["samples"][0].pop("metadata"),
    "no samples": lambda log: log.update(samples=[]),
}
CELLS: tuple[Any, ...] = (True, None, -1, 4, 10**9, 0.0, "0", [0], {})
ODD |= {f"cell {cell!r}": with_cell(cell) for cell in CELLS}


@pytest.mark.parametrize("how", ODD)
def test_an_odd_log_is_one_line(
    how: str, clinometer: Clinometer, tmp_path: Path
) -> None:
    log = hostile.write_log(tmp_path / "log.json", {"by": "words"})
    content = json.loads(log.read_text(encoding="utf-8"))
    ODD[how](content)
    log.write_text(json.dumps(content), encoding="utf-8")
    said = clinometer("import", "inspect", log, "--out", tmp_path / "o")
    assert said.status in (2, 3)
    assert len(said.err.strip().splitlines()) == 1
    assert "a bug in clinometer" not in said.err


@pytest.mark.parametrize("how", ["deep", "pipe", "folder", "no zip"])
def test_what_is_no_log_is_one_line(
    how: str, clinometer: Clinometer, tmp_path: Path
) -> None:
    log = tmp_path / ("log.eval" if how == "no zip" else "log.json")
    if how == "pipe":
        os.mkfifo(log)
    elif how == "folder":
        log.mkdir()
    else:
        log.write_bytes(b"[" * 100_000)
    said = clinometer("import", "inspect", log, "--out", tmp_path / "o")
    assert (said.status, len(said.err.strip().splitlines())) == (2, 1)


@pytest.mark.long
@fuzzer(30)
def test_a_fuzzed_log_is_a_run_or_one_line(data: st.DataObject, folder: Path) -> None:
    log = hostile.write_log(folder / "log.json", {"by": "words"})
    log.write_bytes(data.draw(spoiled(json.loads(log.read_text(encoding="utf-8")))))
    import_inspect(log)
