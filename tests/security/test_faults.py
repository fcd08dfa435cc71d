"""Every kind of fault twice, of the two hundred in benchmarks/faults.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_fault_loses_or_changes_a_number() -> None:
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "faults.py"), "--faults", "30"],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["broken"] == []
    assert sum(found["results"].values()) == 30
    struck = {result.partition(":")[0] for result in found["results"]}
    assert len({one.rpartition(", ")[2] for one in struck}) == 14
    assert {one.partition(", ")[0] for one in struck} >= {"audit", "reliability"}
