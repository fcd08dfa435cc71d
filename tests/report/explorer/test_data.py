"""The view file against the run it was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.made import HOSTILE, made_run

from clinometer.report.explorer.data import (
    MISSING,
    MODULES,
    explorer_file,
    explorer_script,
    view_file,
    worst_cells,
)
from clinometer.report.summary.screen import RunSummary
from clinometer.runs import Run
from clinometer.runs.folder.recover import LoadedRun

TYPES = {"f32": "<f4", "u16": "<u2", "u8": "<u1"}


def summary(run: Run) -> RunSummary:
    return RunSummary.of(LoadedRun(run.path or Path("x"), run.model, "finished", run=run), run)


def read(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The format, read independently."""
    assert content[:4] == b"CLV1"
    start = 8 + int.from_bytes(content[4:8], "little")
    assert start % 8 == 0
    header = json.loads(content[8:start])
    columns = {}
    for one in header["arrays"]:
        kind = np.dtype(TYPES[one["type"]])
        count = int(np.prod(one["shape"]))
        found = np.frombuffer(content, kind, count, start + one["at"])
        columns[one["name"]] = found.reshape(one["shape"])
    return header, columns


@pytest.mark.parametrize("categories", [2, 5])
def test_columns_hold_the_run(categories: int) -> None:
    run = made_run(None, groups=7, contexts=11, categories=categories)
    values = run.preferences.values.copy()
    header, columns = read(view_file(summary(run)))
    shares = columns["p"] / (MISSING - 1)
    assert np.abs(shares - values[:, :, :-1]).max() < 0.5 / 65000
    assert columns["r"] == pytest.approx(run.risks.r, abs=1e-6)
    assert run.risks.intervals is not None
    assert columns["r_ends"] == pytest.approx(run.risks.intervals.r, abs=1e-6)
    faint = np.unpackbits(columns["faint"], bitorder="little")[: 7 * 11].reshape(7, 11)
    assert (faint == run.preferences.low_coverage).all()
    assert header["R"]["value"] == run.risks.R.value
    assert header["groups"] == list(run.risks.groups)


def test_missing_answers_are_marked(tmp_path: Path) -> None:
    from dataclasses import replace

    run = made_run(None, groups=3, contexts=4)
    values = run.preferences.values.copy()
    values[1, 2] = np.nan
    preferences = replace(run.preferences, values=values)
    run = replace(run, preferences=preferences, risks=preferences.decompose())
    _, columns = read(view_file(summary(run)))
    assert columns["p"][1, 2, 0] == MISSING
    assert columns["strength"][1, 2] == 255
    assert (columns["p"] == MISSING).sum() == 1


def test_the_worst_come_first_and_once() -> None:
    run = made_run(None, groups=9, contexts=30)
    one = summary(run)
    found = worst_cells(one, 20)
    strength = [s for x, c, s in found if not run.preferences.low_coverage[x, c]]
    assert strength == sorted(strength, reverse=True)
    assert len({(x, c) for x, c, _ in found}) == len(found) == 20
    good = np.where(run.preferences.low_coverage, -1, one.reading.strength)
    assert found[0][2] == pytest.approx(good.max(), abs=1e-4)


def test_hostile_text_cannot_end_its_block() -> None:
    content = view_file(summary(made_run(None, groups=12, contexts=12, hostile=True)))
    header, _ = read(content)
    assert HOSTILE[0] in header["groups"]  # text of JSON: shown as text, never as a page
    assert "\u202e" not in json.dumps(header, ensure_ascii=False)


def test_a_run_of_240_000_answers_is_small() -> None:
    run = made_run(None, groups=120, contexts=2000, replicates=0)
    assert len(view_file(summary(run))) < 1_100_000


def test_one_script_holds_every_module_once() -> None:
    text = explorer_script()
    assert "import " not in text.replace("important", "")
    assert "export " not in text
    names: list[str] = []
    for module in MODULES:
        lines = explorer_file(f"{module}.js").splitlines()
        for line in lines:
            words = line.removeprefix("export ").split()
            if line[:1] not in (" ", "/") and words[:1] in (["const"], ["class"], ["function"]):
                names.append(words[1])
    assert len(names) == len(set(names))  # they share one scope
    assert "</script" not in text
