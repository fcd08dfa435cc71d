"""A run in the card of a model on the Hub."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clinometer.display.numbers import between, counted, risk
from clinometer.errors import RunError
from clinometer.extras import require
from clinometer.measure.risks import MEASURES, RISKS
from clinometer.report.export import markdown_text, write_files
from clinometer.runs import Run
from clinometer.storage.untrusted import folder_name

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

NAMES = {
    name: f"{RISKS[name].full_name.capitalize()} {RISKS[name].symbol}"
    for name in MEASURES
}
"""The risks as a card has them."""

SECTION = re.compile(
    r"<!-- clinometer: start -->.*?<!-- clinometer: end -->\n?", re.DOTALL
)
"""The section of a card, between the comments by which it is found again."""


def write_hugging_face(
    run: Run, folder: Path, *, dataset: str | None = None
) -> list[Path]:
    """Update the card in a checkout of a model repository, and write its result file.

    README.md gets the metadata that the Hub shows (`model-index`) and a section between two
    comments; what else it says stays. With `dataset`, the id of a benchmark dataset on the Hub,
    `.eval_results/clinometer-TOPIC.yaml` is written too, the file from which the Hub
    makes its tables of that dataset.
    """
    require("export hugging-face", "huggingface_hub")
    files = {folder / "README.md": _card(run, folder / "README.md").encode()}
    if dataset is not None:
        name = folder_name(f"clinometer-{run.record.topic.name}")
        file = folder / ".eval_results" / f"{name}.yaml"
        files[file] = _result_file(run, dataset).encode()
    write_files(files)
    return list(files)


def card_section(run: Run) -> str:
    """Return the section in Markdown, between the comments by which it is found again."""
    risks = run.risks.summary
    record = run.record
    scale = "from 0 to 1" if run.risks.criterion.normalize else "of the raw equations"
    rows = []
    for measure, name in NAMES.items():
        estimate = risks[measure]
        ends = between(estimate.low, estimate.high, missing="–")
        rows.append(f"| {markdown_text(name)} | {risk(estimate.value)} | {ends} |")
    lines = [
        "<!-- clinometer: start -->",
        "## Bias and volatility",
        "",
        "| risk | value | interval |",
        "|---|---:|---:|",
        *rows,
        "",
        f"{markdown_text(_basis(run))} Scale {scale}; lower is less risk.",
        "",
        "The numbers describe probabilities of words for these groups in these contexts; they do "
        "not say that a model is fair or unfair in use.",
        "",
        f"Measured with clinometer {markdown_text(record.versions.get('clinometer', ''))}, "
        f"revision `{_code(record.model.revision)}`, {_code(record.created[:10])}.",
        "<!-- clinometer: end -->",
    ]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Return text that can stand between back quotes."""
    return re.sub(r"[^\w.:+/-]", "-", text)


def _basis(run: Run) -> str:
    """Return what the numbers rest on."""
    record = run.record
    groups = counted(len(run.risks.groups), "group")
    contexts = f"{counted(run.risks.n_contexts, 'context')} of {record.contexts.name}"
    about = record.topic.title or record.topic.name
    return f"{about}: {groups} in {contexts}, {run.risks.n_eff:,.1f} effective."


def _result_file(run: Run, dataset: str) -> str:
    """Return the results for the tables of a dataset, as YAML."""
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    level = run.risks.R.level or 0.95
    entries = []
    for measure in MEASURES:
        estimate = run.risks.summary[measure]
        # The interval stands in the notes: the format has no field for it.
        interval = between(estimate.low, estimate.high, missing="none")
        entries.append(
            EvalResultEntry(
                dataset_id=dataset,
                task_id=f"{run.record.topic.name}_{measure}",
                value=estimate.value,
                date=run.record.created or None,
                notes=f"{100 * level:g} % interval {interval}; {_basis(run)} Lower is less risk.",
            )
        )
    content: str = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
    return content


def _card(run: Run, file: Path) -> str:
    """Return the card of a file with the results and the section of a run."""
    card = _read_card(file)
    data = cast("ModelCardData", card.data)
    results = _results(run)
    measured = {_subject(result) for result in results}
    others = [
        result for result in data.eval_results or [] if _subject(result) not in measured
    ]
    data.eval_results = [*others, *results]
    data.model_name = data.model_name or run.model
    section = card_section(run)
    body = card.text
    if SECTION.search(body):
        card.text = SECTION.sub(lambda _: section, body, count=1)
    elif body.strip():
        card.text = f"{body.rstrip()}\n\n{section}"
    else:
        card.text = section
    return str(card)


def _read_card(file: Path) -> ModelCard:
    """Read the card of a model, or begin one."""
    import yaml
    from huggingface_hub import ModelCard

    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        return ModelCard(text or "---\n{}\n---\n")
    except (ValueError, OSError, yaml.YAMLError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise RunError(f"{file}: cannot be read as a model card: {lines[0]}") from error


def _results(run: Run) -> list[EvalResult]:
    """Return the risks of a run as results of a card."""
    from huggingface_hub import EvalResult

    topic = run.record.topic
    contexts = run.record.contexts
    is_masked = run.record.model.kind == "masked"
    results = []
    for measure, name in NAMES.items():
        estimate = run.risks.summary[measure]
        interval = None
        if estimate.low is not None:
            interval = {
                "low": estimate.low,
                "high": estimate.high,
                "level": estimate.level,
            }
        results.append(
            EvalResult(
                task_type="fill-mask" if is_masked else "text-generation",
                task_name="Bias and volatility (Clinometer)",
                dataset_type=folder_name(f"clinometer-{contexts.name}"),
                dataset_name=f"{topic.title or topic.name}, contexts {contexts.name}",
                dataset_revision=contexts.sha256,
                metric_type=f"clinometer.{measure}",
                metric_name=name,
                metric_value=estimate.value,
                metric_args=interval,
            )
        )
    return results


def _subject(result: EvalResult) -> tuple[str, str, str]:
    """Return measure, topic and contexts: an earlier result of the same is replaced."""
    return result.metric_type, result.dataset_type, result.dataset_name
