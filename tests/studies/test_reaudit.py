"""The study of a published audit, on a made-up table of its shape."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from clinometer.bridges.mapping import load_mapping
from clinometer.bridges.replies import ReplyTable, reply_rows
from clinometer.errors import SettingsError
from clinometer.runs import AuditSettings
from clinometer.studies.reaudit import plain_differences, reaudit

VARIANTS = ("baseline", "firstName_a", "firstName_b", "placebo_noop-whitespace", "placebo_car")


def table(path: Path, variants: tuple[str, ...] = VARIANTS) -> Path:
    """Three models: the first adds two points for name a, the others throw dice."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("variant", "model", "jd", "run", "score"))
        for v, m, c, r in product(variants, "xyz", range(8), range(3)):
            lean = 2 * (m == "x") * (v == "firstName_a")
            rows.writerow((v, m, f"j{c}", r, round(4 + lean + rng.normal(0, 0.5))))
    return path


def test_plain_figures_are_means_of_absolute_differences(tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv")
    found = plain_differences(
        ReplyTable.read(reply_rows(file), load_mapping("hiring_bias"), where="")
    )
    cells: dict[tuple[str, str, str], list[float]] = {}
    for row in csv.DictReader(file.read_text().splitlines()):
        key = row["variant"], row["model"], row["jd"]
        cells.setdefault(key, []).append(float(row["score"]))
    mean = {key: sum(v) / len(v) for key, v in cells.items()}
    wanted = [
        abs(mean[v, m, c] - mean["baseline", m, c]) for v, m, c in mean if v.startswith("firstName")
    ]
    assert found[found["axis"] == "firstName"]["moved"].mean() == pytest.approx(np.mean(wanted))


def test_only_the_planted_lean_survives(tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv")
    found = reaudit(file, load_mapping("hiring_bias"), AuditSettings(), out=tmp_path / "out")
    assert "1 lean steadily after correction for all of them: x (firstName)" in found.measured[0]
    parts = found.tables[1].frame.set_index("model")
    assert parts.loc["x", "lean"] == pytest.approx(1, abs=0.5)
    assert (tmp_path / "out" / "runs" / "x" / "run.json").exists()
    assert found.figures[0].table is not None


def test_without_the_unedited_text_there_is_nothing_to_compare(tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv", VARIANTS[1:])
    with pytest.raises(SettingsError, match="unedited text"):
        reaudit(file, load_mapping("hiring_bias"), AuditSettings(), out=tmp_path)
