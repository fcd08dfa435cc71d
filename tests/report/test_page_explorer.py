"""The data of the explorer against the run it was made from."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.report.made import HOSTILE, made_run, summary_of

from clinometer.report.cell_statistics import pick_examples
from clinometer.report.page import MISSING, explorer_data, render_report, worst_cells


def read(content: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What it says, and its columns."""
    data = json.loads(content)
    columns = {
        name: np.frombuffer(base64.b64decode(column["data"]), f"<{column['type']}")
        for name, column in data["columns"].items()
    }
    return data, columns


@pytest.mark.parametrize("categories", [2, 5])
def test_columns_hold_the_run(categories: int) -> None:
    run = made_run(None, groups=7, contexts=11, categories=categories)
    values = run.preferences.values.copy()
    data, columns = read(explorer_data(summary_of(run)))
    shares = columns["p"].reshape(values[:, :, :-1].shape) / (MISSING - 1)
    assert np.abs(shares - values[:, :, :-1]).max() < 0.5 / 65000
    assert columns["r"] == pytest.approx(run.risks.r, abs=1e-6)
    assert run.risks.intervals is not None
    assert columns["r_ends"] == pytest.approx(run.risks.intervals.r.ravel(), abs=1e-6)
    faint = np.unpackbits(columns["faint"], bitorder="little")[: 7 * 11].reshape(7, 11)
    assert (faint == run.preferences.low_coverage).all()
    assert data["groups"] == list(run.risks.groups)


def test_missing_answers_are_marked() -> None:
    run = made_run(None, groups=3, contexts=4)
    values = run.preferences.values.copy()
    values[1, 2] = np.nan
    preferences = replace(run.preferences, values=values)
    run = replace(run, preferences=preferences, risks=preferences.decompose())
    _, columns = read(explorer_data(summary_of(run)))
    assert columns["p"].reshape(3, 4)[1, 2] == MISSING
    assert columns["strength"].reshape(3, 4)[1, 2] == 255
    assert (columns["p"] == MISSING).sum() == 1


def test_the_worst_come_first_and_once() -> None:
    run = made_run(None, groups=9, contexts=30)
    one = summary_of(run)
    found = worst_cells(one, 20)
    strength = [s for x, c, s in found if not run.preferences.low_coverage[x, c]]
    assert strength == sorted(strength, reverse=True)
    assert len({(x, c) for x, c, _ in found}) == len(found) == 20
    good = np.where(run.preferences.low_coverage, -1, one.cells.strength)
    assert found[0][2] == pytest.approx(good.max(), abs=1e-4)
    data, _ = read(explorer_data(one))
    assert data["compared"] == (good >= 0).sum() < 9 * 30
    assert pick_examples(one.cells)[0].why == f"strongest answer of {data['compared']}"


@pytest.mark.usefixtures("undrawn")
def test_hostile_text_cannot_end_its_block() -> None:
    run = made_run(None, groups=12, contexts=12, hostile=True)
    content = explorer_data(summary_of(run))
    assert HOSTILE[0] in json.loads(content)["groups"]
    assert "\u202e" not in content
    block = render_report([run], interactive=True).split('id="explorer-data">')[1]
    assert json.loads(block.split("</script>")[0])["groups"][0] == HOSTILE[0]


def test_a_run_of_240_000_answers_is_small() -> None:
    run = made_run(None, groups=120, contexts=2000)
    assert len(explorer_data(summary_of(run))) < 1_400_000
