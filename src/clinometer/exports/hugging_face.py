"""A run in a model repository of the Hugging Face Hub: a section of its card, and result files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clinometer.display.names import MEASURES
from clinometer.display.numbers import between, risk
from clinometer.errors import RunError
from clinometer.exports.facts import CAUTION, NAMES, basis, estimates, interval_words
from clinometer.extras import require
from clinometer.models.catalog.spec import folder_name
from clinometer.report.export import markdown_text, write_files
from clinometer.runs import Run

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, EvalResultEntry

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
    found = estimates(run)
    lines = [
        "<!-- clinometer: start -->",
        "## Bias and volatility",
        "",
        "| risk | value | interval |",
        "|---|---:|---:|",
        *(
            f"| {markdown_text(NAMES[name])} | {risk(found[name].value)} | "
            f"{between(found[name].low, found[name].high, missing='–')} |"
            for name in MEASURES
        ),
        "",
        f"{markdown_text(basis(run))} Scale from 0 to 1; lower is less risk."
        if run.risks.normalized
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
    ours = card_results(run)
    kept: list[EvalResult] = [
        one for one in data.eval_results or [] if not any(_same(one, new) for new in ours)
    ]
    data.eval_results = [*kept, *ours]
    data.model_name = data.model_name or run.model
    section = card_section(run)
    body = card.text
    if SECTION.search(body):
        card.text = SECTION.sub(lambda _: section, body, count=1)
    else:
        card.text = f"{body.rstrip()}\n\n{section}" if body.strip() else section
    return str(card)


def _same(old: EvalResult, new: EvalResult) -> bool:
    """Whether an earlier result is of the same measure, topic and contexts."""
    return (old.metric_type, old.dataset_type, old.dataset_name) == (
        new.metric_type,
        new.dataset_type,
        new.dataset_name,
    )


def _code(text: str) -> str:
    """Text between back quotes."""
    return re.sub(r"[^\w.:+/-]", "-", text)
