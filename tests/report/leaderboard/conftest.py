"""A folder of runs: two topics, a model that was asked twice, and a run that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.made import made_run

from clinometer.cli import main


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("board")
    for i in range(4):
        made_run(
            root / "gender" / f"m{i}",
            groups=6,
            contexts=30,
            model=f"made:m{i}",
            lean=0.2 + 0.5 * i,
            seed=i,
        )
    made_run(root / "again", groups=6, contexts=30, model="made:m0", seed=9)
    made_run(root / "three", groups=5, contexts=20, model="made:m1", categories=3)
    (root / "broken").mkdir()
    (root / "broken" / "run.json").write_text("{", encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def board(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of these runs, as the command writes them."""
    out = tmp_path_factory.mktemp("pages") / "site"
    with pytest.raises(SystemExit) as done:
        main(["report", str(runs), "--leaderboard", "--out", str(out)])
    assert not done.value.code
    return out
