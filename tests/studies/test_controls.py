"""Controls: chance, other references and placebo groups, with a real model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.command import Clinometer
from tests.present import present

from clinometer.errors import TableError
from clinometer.measure import decompose
from clinometer.runs import AuditSettings, Run, audit
from clinometer.studies import Control, controls
from clinometer.studies.factors import builtin_factors
from clinometer.topics import load_topic, placebo_groups


@pytest.fixture(scope="module")
def rows(small_run: Path) -> dict[str, Control]:
    found = controls(Run.load(small_run), shuffles=50)
    return {f"{r.control}: {r.option}": r for r in found.rows}


def test_placebo_groups_read_as_english() -> None:
    topic = load_topic("gender")
    groups = {g.name: g for g in placebo_groups("en")}
    assert topic.render("The [X] said that [Y]", groups["Mary"]).before == "Mary said that"
    assert (
        topic.render("If a [X] said that [Y]", groups["someone"]).before == "If someone said that"
    )
    assert topic.render("A [X] said that [Y]", groups["individual"]).before == (
        "An individual said that"
    )


def test_the_first_row_is_the_run(rows: dict[str, Control], run: Run) -> None:
    assert rows["as measured: "].R == run.risks.R


def test_references_match_decompose(rows: dict[str, Control], run: Run) -> None:
    p = run.preferences
    # Labour statistics, by hand; the ambassador has no figure.
    women = builtin_factors()["percent_women"].reindex(list(p.groups)).to_numpy() / 100
    known = np.isfinite(women)
    assert known.tolist() == [True, True, True, False]
    table = np.stack([1 - women, women], axis=1)[known]
    assert p.categories == ("male", "female")
    weights: dict[str, Any] = {"context_weights": p.context_weights, "criterion": "ratio"}
    by_hand = decompose(p.values[known], reference=table, **weights)
    line = rows["reference: labour statistics (share of women)"]
    assert "Current Population Survey 2022" in line.note
    assert line.R is not None
    assert line.R.value == pytest.approx(by_hand.R.value, abs=1e-12)
    assert line.note.startswith("3 of 4")
    # The model's own prior: "person", asked in the same contexts.
    placebo = Run.load(present(run.path) / "controls")
    person = placebo.preferences.values[placebo.preferences.groups.index("person")]
    same = np.broadcast_to(person, p.values.shape)
    by_hand = decompose(p.values, reference=same, **weights)
    line = rows["reference: its prior (person), same context"]
    assert line.R_volatility is not None
    assert line.R_volatility.value == pytest.approx(by_hand.R_volatility.value, abs=1e-12)


def test_a_placebo_against_itself_has_no_risk(run: Run, rows: dict[str, Control]) -> None:
    assert "placebo group: person" in rows
    placebo = Run.load(present(run.path) / "controls")
    person = placebo.preferences.values[:1]
    assert decompose(person, reference=person).R.value == 0


def test_shuffles_give_a_distribution(rows: dict[str, Control], run: Run) -> None:
    for option in ("any", "of like probability"):
        line = rows[f"shuffled words: {option}"]
        assert line.R_volatility is not None
        assert line.p is not None
        assert (
            present(line.R_volatility.low)
            < line.R_volatility.value
            < present(line.R_volatility.high)
        )
        assert 1 / 51 <= line.p <= 1
    again = controls(run, shuffles=50, ask=False)
    assert again.rows[1] == rows["shuffled words: any"]


def test_names_lean_by_sex(rows: dict[str, Control], run: Run) -> None:
    placebo = Run.load(present(run.path) / "controls")
    male = placebo.preferences.values[:, :, 0].mean(axis=1)
    of = dict(zip(placebo.preferences.groups, male, strict=True))
    assert of["James"] > of["Mary"]
    assert rows["placebo group: first names, balanced"].note == "16 names as one group"


def test_placebos_are_scored_once(
    run: Run, rows: dict[str, Control], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the model was opened again")

    monkeypatch.setattr(sys.modules["clinometer.runs.scores.scoring"], "open_model", never)
    again = {f"{r.control}: {r.option}": r for r in controls(run, shuffles=50).rows}
    assert again == rows


def test_unavailable_controls_give_a_reason(tmp_path: Path) -> None:
    known = audit(
        "reference:stereotyped",
        topic="race",
        contexts="paper-race",
        out=tmp_path / "known",
        settings=AuditSettings(),
    )
    found = controls(known)
    notes = {f"{r.control}: {r.option}": r.note for r in found.rows}
    assert "no scores" in notes["shuffled words: "]
    assert "your own table" in notes["reference: real world"]
    assert "cannot be scored" in notes["placebo group: "]
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_custom_table_of_names_is_used(run: Run) -> None:
    table = pd.DataFrame({"male": [1.0, 30.0], "female": [9.0, 70.0]}, index=["nurse", "teacher"])
    found = controls(run, ask=False, reference=table).rows
    line = next(r for r in found if r.option == "real world")
    p = run.preferences
    rows = [p.groups.index("nurse"), p.groups.index("teacher")]
    by_hand = decompose(
        p.values[rows],
        context_weights=p.context_weights,
        reference=[[0.1, 0.9], [0.3, 0.7]],
        criterion="ratio",
    )
    assert line.R is not None
    assert line.R.value == pytest.approx(by_hand.R.value, abs=1e-12)
    with pytest.raises(TableError, match="no female"):
        controls(run, ask=False, reference=table[["male"]])


def test_the_command(clinometer: Clinometer, small_run: Path, rows: dict[str, Control]) -> None:
    shown = clinometer("study", "controls", small_run, "--stored", "--shuffles", 30)
    assert shown.status == 0
    assert "shuffled words" in shown.out
    assert "someone" in shown.out  # asked before, so that it is stored
    found = json.loads(clinometer("study", "controls", small_run, "--json").out)
    assert found["rows"][0]["R"]["level"] == 0.95
