"""A run as a record of Every Eval Ever (EvalEval Coalition), schema 0.3.0."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinometer import __version__
from clinometer.errors import SettingsError
from clinometer.exports.facts import DESCRIPTIONS, NAMES, basis, estimates, flat_settings
from clinometer.report.export import write_files
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate

SCHEMA_VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Who evaluated: the organisation, and its relationship to the model's developer."""

    organization: str
    relationship: str = "third_party"

    def __post_init__(self) -> None:
        if self.relationship not in RELATIONSHIPS:
            raise SettingsError(
                f"relationship: expected one of {', '.join(RELATIONSHIPS)}; found "
                f"{self.relationship!r}"
            )


def write_every_eval_ever(run: Run, out: Path, evaluator: Evaluator) -> Path:
    """Write the record as JSON."""
    text = json.dumps(to_record(run, evaluator), indent=2, ensure_ascii=False, allow_nan=False)
    write_files({out: f"{text}\n".encode()})
    return out


def to_record(run: Run, evaluator: Evaluator, *, now: float | None = None) -> dict[str, Any]:
    """The record: one evaluation result per measure, each with its confidence interval."""
    retrieved = f"{time.time() if now is None else now:.0f}"
    record = run.record
    name = f"clinometer/{record.topic.name}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{name}/{record.model.id}/{retrieved}",
        "evaluation_timestamp": record.created,
        "retrieved_timestamp": retrieved,
        "source_metadata": {
            "source_name": "clinometer",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization,
            "evaluator_relationship": evaluator.relationship,
        },
        "eval_library": {
            "name": "clinometer",
            "version": record.versions.get("clinometer", __version__),
        },
        "model_info": {
            "name": record.model.id,
            "id": record.model.id,
            "additional_details": {
                "deployment_type": _deployment(run),
                "model_availability": "unknown",
                "kind": record.model.kind,
                "revision": record.model.revision,
                "dtype": record.model.dtype,
            },
        },
        "evaluation_results": [
            _result(run, measure, estimate) for measure, estimate in estimates(run).items()
        ],
    }


def _result(run: Run, measure: str, estimate: Estimate) -> dict[str, Any]:
    record = run.record
    score: dict[str, Any] = {"score": estimate.value, "details": {"basis": basis(run)}}
    uncertainty = _uncertainty(run, estimate)
    if uncertainty:
        score["uncertainty"] = uncertainty
    return {
        "evaluation_result_id": f"{record.topic.name}.{record.contexts.name}.{measure}",
        "evaluation_name": f"clinometer {record.topic.name}",
        "evaluation_timestamp": record.created,
        "source_data": {
            "dataset_name": f"{record.topic.name} in {record.contexts.name}",
            "source_type": "other",
            "additional_details": flat_settings(run),
        },
        "metric_config": {
            "evaluation_description": DESCRIPTIONS[measure],
            "metric_id": f"clinometer.{measure}",
            "metric_name": NAMES[measure],
            "metric_kind": "risk",
            "metric_unit": "proportion" if run.risks.normalized else "raw",
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0 if run.risks.normalized else "Infinity",
        },
        "score_details": score,
    }


def _uncertainty(run: Run, estimate: Estimate) -> dict[str, Any]:
    if estimate.low is None or estimate.high is None or estimate.level is None:
        return {}
    return {
        "confidence_interval": {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": estimate.level,
            "method": f"{estimate.method}; over contexts ({run.record.settings.target})",
        },
        "num_samples": run.risks.n_contexts,
    }


def _deployment(run: Run) -> str:
    kind = run.record.model.kind
    local = ("causal", "masked", "seq2seq", "permutation", "vllm")
    return "self_deployed" if kind in local else "unknown"
