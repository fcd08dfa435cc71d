"""The record of Every Eval Ever: what its schema 0.3.0 asks for, with every number of the run.

The schema itself is the coalition's and not stored here; docs/publishing.md says what was checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer
from tests.report.made import made_run

from clinometer.errors import SettingsError
from clinometer.exports.evaluation_records import Evaluator, to_record


def texts(value: Any, *names: str) -> Iterator[Any]:
    """Values of all objects under these names: the schema takes nothing but texts in them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in names:
                yield from inner.values()
            yield from texts(inner, *names)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, *names)


def test_every_measure_has_its_interval(clinometer: Clinometer, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", groups=4, contexts=60, replicates=100)
    out = tmp_path / "record.json"
    done = clinometer(
        "export", "every-eval-ever", tmp_path / "run", "--organization", "Us", "--out", out
    )
    assert done.status == 0, done.err
    found = json.loads(out.read_text(encoding="utf-8"))
    assert set(found) == {
        "schema_version",
        "evaluation_id",
        "evaluation_timestamp",
        "retrieved_timestamp",
        "source_metadata",
        "eval_library",
        "model_info",
        "evaluation_results",
    }
    for result, name in zip(
        found["evaluation_results"], ("R", "R_bias", "R_volatility"), strict=True
    ):
        estimate = run.risks.summary[name]
        score = result["score_details"]
        assert score["score"] == estimate.value
        interval = score["uncertainty"]["confidence_interval"]
        assert (interval["lower"], interval["upper"]) == (estimate.low, estimate.high)
        assert interval["confidence_level"] == 0.95
        assert score["uncertainty"]["num_samples"] == 60
        config = result["metric_config"]
        assert config["lower_is_better"] is True
        assert (config["min_score"], config["max_score"]) == (0.0, 1.0)
    assert all(isinstance(one, str) for one in texts(found, "details", "additional_details"))
    assert found["source_metadata"]["evaluator_relationship"] == "third_party"


def test_without_intervals_there_is_no_uncertainty() -> None:
    run = made_run(None, groups=3, contexts=5, replicates=0)
    found = to_record(run, Evaluator(organization="Us"), now=1.0)
    assert "uncertainty" not in found["evaluation_results"][0]["score_details"]
    assert found["evaluation_id"] == "clinometer/gender/made:model/1"


def test_the_relationship_is_one_of_theirs() -> None:
    with pytest.raises(SettingsError, match="expected one of first_party"):
        Evaluator(organization="Us", relationship="friend")
