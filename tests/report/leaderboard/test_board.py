"""Boards: who stands on which, and that ranks are those of the paired comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.present import present
from tests.report.made import made_run

from clinometer.errors import RunError
from clinometer.measure.comparison import Rank
from clinometer.report.leaderboard import (
    collect,
    likely_ranks,
    ranking_figure,
    write_leaderboard,
)
from clinometer.runs import Run, compare


def test_runs_of_one_question_stand_on_one_board(runs: Path) -> None:
    boards, passed = collect([runs], replicates=200)
    first, second = boards
    names = {"made:m0 (m0)", "made:m0 (again)", "made:m1", "made:m2", "made:m3"}
    assert {row.name for row in first.rows} == names
    assert [row.name for row in second.rows] == ["made:m1"]
    assert len(passed) == 1
    assert "broken" in passed[0]
    values = [row.ranks["R"].value for row in first.rows]
    assert values == sorted(values)


def test_ranks_are_those_of_compare(runs: Path) -> None:
    (board,), _ = collect([runs / "gender"], replicates=200, seed=4)
    loaded = [Run.load(runs / "gender" / f"m{i}") for i in range(4)]
    direct = compare(*loaded, replicates=200, seed=4)
    found = {
        (name, m): row.ranks[m] for row in board.rows for m in row.ranks for name in [row.name]
    }
    for rank in direct.ranks:
        if rank.measure != "R_between":
            same = found[rank.model, rank.measure]
            assert (same.value, same.rank) == (rank.value, rank.rank)
    for row in board.rows:
        assert row.summary.R.to_dict() == next(
            run.risks.R.to_dict() for run in loaded if run.model == row.name
        )
        others = np.array(row.lower["R"])[[n != row.name for n in board.order]]
        expected = np.dot(row.ranks["R"].probability, range(1, 5))
        assert expected == pytest.approx(1 + (1 - others).sum(), abs=1e-9)


def test_the_range_of_ranks_leaves_out_the_tails() -> None:
    def of(*p: float) -> tuple[int, int]:
        return likely_ranks(Rank("a", "R", 0.1, 1, p))

    assert of(1.0, 0.0) == (1, 1)
    assert of(0.025, 0.95, 0.025) == (2, 2)
    assert of(0.03, 0.94, 0.03) == (1, 3)
    assert of(0.5, 0.0, 0.5) == (1, 3)


def test_nothing_to_rank_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="found none"):
        collect([tmp_path])
    with pytest.raises(RunError, match="no such folder"):
        collect([tmp_path / "nowhere"])


def test_a_single_model_has_no_rank(tmp_path: Path) -> None:
    made_run(tmp_path / "run", groups=9, contexts=12)
    (board,), _ = collect([tmp_path], replicates=100)
    assert board.ranked == []
    figure = present(ranking_figure(board))
    assert figure.title == "Risk of the model"
    write_leaderboard([board], tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "no other model" in page
    assert "ranks by R. Along" not in page
