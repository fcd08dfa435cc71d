"""The folder of an exported task, without the harness: what its utils.py computes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from clinometer.bridges.lm_eval import TaskFolder
from clinometer.contexts import ContextSet
from clinometer.topics import load_topic


def test_functions_of_the_written_task_give_its_risks(tmp_path: Path) -> None:
    topic = load_topic("gender").select(["nurse", "engineer"])
    folder = TaskFolder(
        topic, ContextSet("two", ["The [X] said that [Y]", "A [X] saw [Y]"], [3, 1])
    )
    folder.write(tmp_path)
    utils = runpy.run_path(str(tmp_path / "utils.py"))
    likely = set(topic.attributes["male"]) - set(topic.attributes["female"])
    results = [(float(np.log(0.01 if w in likely else 1e-9)), False) for w in topic.words]
    items = [utils["process_results"](doc, results)["R"] for doc in folder.documents()]
    assert [cell for cell, _ in items] == [0, 1, 2, 3]
    assert utils["R"](items) == pytest.approx(1.0, abs=1e-5)  # always the same category
    assert utils["R_volatility"](items) == pytest.approx(0.0, abs=1e-9)
