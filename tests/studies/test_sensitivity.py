"""The sensitivity sheet: every line against its own computation from the stored scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.planted import planted_run
from tests.present import present

from clinometer.errors import ModelError, RunError
from clinometer.measure import decompose, membership, preference
from clinometer.measure.risks import MEASURES
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.scores import word_counts
from clinometer.runs.stored_scores import recounted, stored_cells
from clinometer.studies import sensitivity
from clinometer.studies.sensitivity import by_probability, random_halves


def rows_of(run: Run) -> dict[str, pd.Series]:
    """The lines of the sheet, by choice and option."""
    frame = sensitivity(run).tables[0].frame
    return {f"{row.choice}: {row.option}": row for _, row in frame.iterrows()}


def risks(row: pd.Series) -> tuple[float, ...]:
    return row.R, row.R_bias, row.R_volatility


def test_stored_scores_reproduce_the_run_which_is_the_first_line(run: Run) -> None:
    again = recounted(run, [word_counts(run.record)])[0]
    assert again.equals(run.preferences)
    coverage, seen = present(again.coverage), present(run.preferences.coverage)
    np.testing.assert_allclose(coverage, seen, rtol=1e-5)
    first = next(iter(rows_of(run).values()))
    assert risks(first) == pytest.approx(
        [getattr(run.record.summary, n).value for n in MEASURES]
    )


def test_each_line_matches_its_own_computation(run: Run) -> None:
    rows = rows_of(run)
    p = run.preferences
    even = decompose(p.values)
    assert pytest.approx(even.R.value, abs=1e-12) == rows["context weights: uniform"].R
    # Words of one token, by the tokens that run.json names and from the raw parts.
    stored = present(run.record.words)
    one = {w for w, t in stored.tokens.items() if len(t) == 1}
    lists = {
        c: [w for w in ws if w in one] for c, ws in run.record.topic.attributes.items()
    }
    counts = membership(stored.words, lists)
    values = np.empty_like(p.values)
    for x, c, scores in stored_cells(run):
        values[x, c] = preference(scores.log_probs, counts).p
    alone = decompose(values, context_weights=p.context_weights)
    line = rows["words: single-token words"]
    assert line.R_volatility == pytest.approx(alone.R_volatility.value, abs=1e-12)
    # Two categories: every norm and the largest |s| agree; the sum of s⁺ is divided by five.
    base = rows["criterion: largest |s| (released code)"]
    assert risks(base) == pytest.approx(risks(rows["criterion: k = 2"]), abs=1e-12)
    fifth = rows["criterion: sum of s⁺ / 5 (released code)"]
    assert pytest.approx(present(base.R) / 5) == fifth.R
    assert not fifth.comparable
    # Coverage as exclusion.
    low = present(p.coverage) < 0.1
    line = rows["coverage: from 0.1"]
    assert (
        f"{low.sum()} of {low.size} cells" in line.note
        or line.note == "no cell is left"
    )


def test_the_range_covers_the_comparable_lines(run: Run) -> None:
    found = sensitivity(run)
    frame = found.tables[0].frame
    inside = frame[frame["comparable"]]["R"]
    assert f"R {inside.min():.3f} to {inside.max():.3f}" in found.measured[0]
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_dict() == sensitivity(run).to_dict()


def test_random_halves_keep_the_same_ranks(run: Run) -> None:
    ranked = by_probability(run)
    assert ranked["male"][0] in ("he", "his", "him")
    for half in random_halves(ranked, 5, seed=1):
        kept = {
            c: [i for i, w in enumerate(ws) if w in half] for c, ws in ranked.items()
        }
        # canary, shared, may be kept by the rank that it has in the other category
        assert len(set(kept["male"]) ^ set(kept["female"])) <= 2
    assert random_halves({"a": ["x"], "b": ["y"]}, 5, seed=1) == []


def test_empty_word_lists_and_missing_scores_are_refused(
    run: Run, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="expected a word of category"):
        word_counts(run.record, keep=["he"])
    known = audit("reference:random", settings=AuditSettings(), out=tmp_path / "known")
    assert any("no scores" in row.note for row in rows_of(known).values())
    with pytest.raises(RunError, match="no stored scores"):
        next(stored_cells(known))


def test_an_answer_that_nobody_gives_in_some_context_has_its_criteria_too() -> None:
    rng = np.random.default_rng(0)
    asked = planted_run("rates", np.full(4, 0.45), rng, replies=5, contexts=20)
    assert (asked.preferences.values[..., 1].sum(axis=0) == 0).any()
    line = rows_of(asked)["criterion: largest |s| (released code)"]
    assert line.R > line.R_bias > 0
