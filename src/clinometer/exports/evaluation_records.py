"""A run as a record for Every Eval Ever (EvalEval Coalition), or for a model card of the Hub."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clinometer import __version__
from clinometer.display.numbers import MEASURES, between, risk
from clinometer.errors import RunError, SettingsError
from clinometer.exports.facts import (
    CAUTION,
    DESCRIPTIONS,
    NAMES,
    basis,
    estimates,
    flat_settings,
    interval_words,
)
from clinometer.extras import require
from clinometer.models.catalog.spec import folder_name
from clinometer.report.export import markdown_text, write_files
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, EvalResultEntry


SCHEMA_VERSION = "0.3.0"
#: Kinds of models that run where the audit does.
LOCAL = ("causal", "masked", "seq2seq", "permutation")
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
                "deployment_type": "self_deployed" if record.model.kind in LOCAL else "unknown",
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
    if None not in (estimate.low, estimate.high, estimate.level):
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": estimate.low,
                "upper": estimate.high,
                "confidence_level": estimate.level,
                "method": f"{estimate.method}; over contexts ({record.settings.population})",
            },
            "num_samples": run.risks.n_contexts,
        }
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
            "metric_unit": "proportion" if run.risks.criterion.normalize else "raw",
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0 if run.risks.criterion.normalize else "Infinity",
        },
        "score_details": score,
    }


SECTION = re.compile(r"<!-- clinometer: start -->.*?<!-- clinometer: end -->\n?", re.DOTALL)


def write_hugging_face(run: Run, folder: Path, *, dataset: str | None = None) -> list[Path]:
    """Update the card in a checkout of a model repository, and write its result file.

    README.md gets the metadata that the Hub shows (`model-index`) and a section between two
    comments; what else it says stays. With `dataset`, the id of a benchmark dataset on the Hub,
    `.eval_results/clinometer-TOPIC.yaml` is written too, the file from which leaderboards of
    that dataset are made.
    """
    require("export hugging-face", "huggingface_hub")
    files = {folder / "README.md": _card(run, folder / "README.md").encode()}
    if dataset is not None:
        import yaml
        from huggingface_hub import eval_result_entries_to_yaml

        name = folder_name(f"clinometer-{run.record.topic.name}")
        content = yaml.safe_dump(
            eval_result_entries_to_yaml(result_entries(run, dataset)), sort_keys=False
        )
        files[folder / ".eval_results" / f"{name}.yaml"] = content.encode()
    write_files(files)
    return list(files)


def result_entries(run: Run, dataset: str) -> list[EvalResultEntry]:
    """One entry per measure; the interval stands in the notes, the format has no field for it."""
    from huggingface_hub import EvalResultEntry

    return [
        EvalResultEntry(
            dataset_id=dataset,
            task_id=f"{run.record.topic.name}_{name}",
            value=estimate.value,
            date=run.record.created or None,
            notes=f"{interval_words(estimate)}; {basis(run)} Lower is less risk.",
        )
        for name, estimate in estimates(run).items()
    ]


def card_results(run: Run) -> list[EvalResult]:
    """The same for the metadata of a card, with the interval as arguments of the metric."""
    from huggingface_hub import EvalResult

    topic, contexts = run.record.topic, run.record.contexts
    return [
        EvalResult(
            task_type="fill-mask" if run.record.model.kind == "masked" else "text-generation",
            task_name="Bias and volatility (Clinometer)",
            dataset_type=folder_name(f"clinometer-{contexts.name}"),
            dataset_name=f"{topic.title or topic.name}, contexts {contexts.name}",
            dataset_revision=contexts.sha256,
            metric_type=f"clinometer.{name}",
            metric_name=NAMES[name],
            metric_value=estimate.value,
            metric_args=None
            if estimate.low is None
            else {"low": estimate.low, "high": estimate.high, "level": estimate.level},
        )
        for name, estimate in estimates(run).items()
    ]


def card_section(run: Run) -> str:
    """The section in Markdown, between the comments by which it is found again."""
    risks = estimates(run)
    lines = [
        "<!-- clinometer: start -->",
        "## Bias and volatility",
        "",
        "| risk | value | interval |",
        "|---|---:|---:|",
        *(
            f"| {markdown_text(NAMES[name])} | {risk(risks[name].value)} | "
            f"{between(risks[name].low, risks[name].high, missing='–')} |"
            for name in MEASURES
        ),
        "",
        f"{markdown_text(basis(run))} Scale from 0 to 1; lower is less risk."
        if run.risks.criterion.normalize
        else f"{markdown_text(basis(run))} Scale of the raw equations; lower is less risk.",
        "",
        CAUTION,
        "",
        f"Measured with clinometer {markdown_text(run.record.versions.get('clinometer', ''))}, "
        f"revision `{_code(run.record.model.revision)}`, {_code(run.record.created[:10])}.",
        "<!-- clinometer: end -->",
    ]
    return "\n".join(lines) + "\n"


def _card(run: Run, file: Path) -> str:
    import yaml
    from huggingface_hub import ModelCard, ModelCardData

    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        card = ModelCard(text) if text else ModelCard("---\n{}\n---\n")
    except (ValueError, OSError, yaml.YAMLError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(f"{file}: cannot be read as a model card: {first}") from error
    data = cast(ModelCardData, card.data)

    def subject(result: EvalResult) -> tuple[str, str, str]:
        """Measure, topic and contexts: an earlier result of the same is replaced."""
        return result.metric_type, result.dataset_type, result.dataset_name

    results = card_results(run)
    measured = set(map(subject, results))
    others = [result for result in data.eval_results or [] if subject(result) not in measured]
    data.eval_results = [*others, *results]
    data.model_name = data.model_name or run.model
    section = card_section(run)
    body = card.text
    if SECTION.search(body):
        card.text = SECTION.sub(lambda _: section, body, count=1)
    else:
        card.text = f"{body.rstrip()}\n\n{section}" if body.strip() else section
    return str(card)


def _code(text: str) -> str:
    """Text between back quotes."""
    return re.sub(r"[^\w.:+/-]", "-", text)
