"""Logs of BBQ and StereoSet as inspect_evals writes them, imported without a mapping."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import Clinometer

from clinometer.bridges.inspect import import_inspect
from clinometer.runs import Run

pytest.importorskip("inspect_ai")


def made(name: str, folder: Path) -> Path:
    command = [sys.executable, str(Path(__file__).with_name("made_benchmarks.py")), name]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return Path(done.stdout.splitlines()[-1])


def counted(run: Run) -> dict[str, float]:
    """Answers of every group that count, by category."""
    p = run.preferences
    seen = p.observed
    return {
        f"{group} {category}": float(p.values[x, seen[x], y].sum())
        for x, group in enumerate(p.groups)
        for y, category in enumerate(p.categories)
    }


def test_ambiguous_items_of_bbq_by_category(tmp_path: Path, clinometer: Clinometer) -> None:
    log = made("bbq", tmp_path / "logs")
    clinometer("import", "inspect", log, "--out", tmp_path / "run", "--clusters", "question")
    run = Run.load(tmp_path / "run")
    # A, B, unknown, A about bad things, then A, B about good ones, where the other is stereotyped.
    for group in ("Age", "Religion"):
        assert counted(run)[f"{group} stereotype"] == 3
        assert counted(run)[f"{group} against"] == 2
    assert run.preferences.coverage is not None
    assert run.record.topic.name == "inspect_bbq"
    assert run.record.imported is not None
    assert run.record.imported.left_out == {"samples that the mapping does not want": 12}
    assert run.record.settings.clusters == "question"


def test_items_of_stereoset_by_kind_of_bias(tmp_path: Path) -> None:
    run = import_inspect(made("stereoset", tmp_path), clusters="target")
    for group in ("gender", "race"):
        assert counted(run)[f"{group} stereotype"] == 2  # B twice, C unrelated
        assert counted(run)[f"{group} anti-stereotype"] == 3
    assert set(run.preferences.label("target")) == {"target 0", "target 1", "target 2"}
