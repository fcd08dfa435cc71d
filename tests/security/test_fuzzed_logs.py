"""Logs and tables of replies of other tools with anything wrong in them: a run, or one line."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bridges.test_replies import COLUMNS, rows
from tests.security.fuzzing import budget, spoiled
from tests.security.test_fuzzed_records import one_line

from clinometer.bridges.lm_eval import import_lm_eval
from clinometer.bridges.mapping import load_mapping
from clinometer.bridges.replies import import_replies
from clinometer.errors import ClinometerError
from clinometer.runs import AuditSettings, Run

DATA = Path(__file__).parents[1] / "data" / "lm_eval"
(SAMPLES,) = DATA.glob("samples_*.jsonl")
(RESULTS,) = DATA.glob("results_*.json")
LINES = [json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines()]
SETTINGS = AuditSettings(replicates=0)
FEW = list(rows(groups=2, contexts=3, n=2))
#: One file of each tool whose results are read, as the tool writes it.
TOOLS: dict[str, Any] = {
    "promptfoo": {"results": {"results": [
        {"provider": {"id": "m"}, "score": r["score"], "vars": r, "testCase": {"vars": r},
         "response": {"output": "yes"}} for r in FEW
    ]}},
    "deepeval": {"hyperparameters": {"model": "m"}, "testCases": [
        {"metricsData": [{"score": r["score"]}], "additionalMetadata": r} for r in FEW
    ]},
    "helm": {"adapter_spec": {"model": "m"}, "request_states": [
        {"instance": {"id": r["context"], "input": {"text": "Is it?"},
                      "perturbation": {"name": r["group"]},
                      "references": [{"output": {"text": "yes"}, "tags": ["correct"]}]},
         "request": {"model": "m"}, "output_mapping": {"A": "yes"},
         "result": {"completions": [{"text": "A"}]}, "train_trial_index": r["repetition"]}
        for r in FEW
    ]},
    "replies": FEW,
}  # fmt: skip


def sound(run: Run) -> None:
    """Numbers that can be."""
    values = [one["value"] for one in run.risks.to_dict()["summary"].values()]
    assert all(value is None or (math.isfinite(value) and value >= 0) for value in values)


@budget(40)
@given(data=st.data())
def test_fuzzed_samples_of_a_harness_are_a_run_or_one_line(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        samples, results = Path(name) / SAMPLES.name, Path(name) / RESULTS.name
        at = data.draw(st.integers(0, len(LINES) - 1))
        lines = [json.dumps(line).encode() for line in LINES]
        lines[at] = data.draw(spoiled(LINES[at]))
        samples.write_bytes(b"\n".join(lines))
        content = json.loads(RESULTS.read_text(encoding="utf-8"))
        results.write_bytes(
            data.draw(spoiled(content)) if data.draw(st.booleans()) else RESULTS.read_bytes()
        )
        try:
            sound(import_lm_eval(samples, mapping="crows_pairs", settings=SETTINGS))
        except ClinometerError as error:
            one_line(error)


@budget(60)
@given(data=st.data(), tool=st.sampled_from(sorted(TOOLS)))
def test_fuzzed_replies_of_a_tool_are_runs_or_one_line(data: st.DataObject, tool: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "replies.json"
        file.write_bytes(data.draw(spoiled(TOOLS[tool])))
        try:
            for run in import_replies(file, load_mapping(tool), SETTINGS, out=None):
                sound(run)
        except ClinometerError as error:
            one_line(error)


@pytest.mark.parametrize("wrong", [None, True, 5, "x", [], {}, [None]], ids=repr)
@pytest.mark.parametrize("tool", [tool for tool in sorted(TOOLS) if tool != "replies"])
def test_a_reply_of_another_shape_is_one_line(tool: str, wrong: Any, tmp_path: Path) -> None:
    """Found by the fuzzer above: each was a traceback somewhere."""
    (list_name,) = {"results", "testCases", "request_states"} & TOOLS[tool].keys()
    for place in ("row", *FEW_KEYS):
        content = copy.deepcopy(TOOLS[tool])
        found = content[list_name]
        found = found["results"] if isinstance(found, dict) else found
        if place == "row":
            found[0] = wrong
        else:
            found[0][place] = wrong
        file = tmp_path / "replies.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        with contextlib.suppress(ClinometerError):
            import_replies(file, load_mapping(tool), SETTINGS, out=None)


FEW_KEYS = ("provider", "vars", "testCase", "metricsData", "additionalMetadata", "instance",
            "request", "result", "output_mapping")  # fmt: skip


def test_a_score_beyond_measure_is_no_score(tmp_path: Path) -> None:
    """Found by the fuzzer below: the square of 1e308 has no value."""
    file = tmp_path / "replies.csv"
    odd = [{**FEW[0], "score": "1e308"}, *FEW[1:]]
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *(row.values() for row in odd)])
    (run,) = import_replies(file, load_mapping("replies"), SETTINGS, out=None)
    sound(run)
    wide = load_mapping("replies").model_copy(update={"scale": [0.0, 1e12]})
    sound(*import_replies(file, wide, SETTINGS, out=None))


CELLS = st.sampled_from(["", "0", "-1", "1e308", "nan", "inf", "g0", "True", "9" * 40, "\x1b[2J",
                         "=1+1", "\u202e", "a" * 5000, "1;2", "[]", '"', "\0"])  # fmt: skip


@budget(40)
@given(data=st.data())
def test_a_fuzzed_table_of_replies_is_runs_or_one_line(data: st.DataObject) -> None:
    content = [[str(row[name]) for name in COLUMNS] for row in FEW]
    for _ in range(data.draw(st.integers(1, 6))):
        row = data.draw(st.sampled_from(content))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(CELLS)
    header = [data.draw(CELLS) if data.draw(st.integers(0, 9)) == 0 else name for name in COLUMNS]
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "replies.csv"
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *content])
        try:
            for run in import_replies(file, load_mapping("replies"), SETTINGS, out=None):
                sound(run)
        except ClinometerError as error:
            one_line(error)
