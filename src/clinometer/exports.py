"""Runs in the format of another tool: the card and the result file of a model on the Hub."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from clinometer.display.numbers import MEASURES, SYMBOLS, between, counted, risk
from clinometer.errors import RunError
from clinometer.extras import require
from clinometer.report.export import markdown_text, write_files
from clinometer.runs import Run
from clinometer.statistics.estimate import Estimate
from clinometer.storage.untrusted import folder_name

NAMES = {
    "R": "Discrimination risk R",
    "R_bias": f"Bias risk {SYMBOLS['R_bias']}",
    "R_volatility": f"Volatility risk {SYMBOLS['R_volatility']}",
}


def estimates(run: Run) -> dict[str, Estimate]:
    """The three risks of a run."""
    return {name: run.risks.summary[name] for name in MEASURES}


def basis(run: Run) -> str:
    """What the numbers rest on, in a sentence."""
    record = run.record
    groups = counted(len(run.risks.groups), "group")
    contexts = counted(run.risks.n_contexts, "context")
    return (
        f"{record.topic.title or record.topic.name}: {groups} in {contexts} of "
        f"{record.contexts.name}, {run.risks.n_eff:,.1f} effective."
    )


def interval_words(estimate: Estimate) -> str:
    """95 % interval 0.31–0.40, or that there is no interval and why.

    >>> interval_words(Estimate(0.4, 0.3, 0.5, 0.95))
    '95 % interval 0.300–0.500'
    >>> interval_words(Estimate(0.4))
    'no interval'
    """
    if estimate.level is None:
        return "no interval" + (f" ({estimate.note})" if estimate.note else "")
    return f"{100 * estimate.level:g} % interval {between(estimate.low, estimate.high)}"


SECTION = re.compile(r"<!-- clinometer: start -->.*?<!-- clinometer: end -->\n?", re.DOTALL)


def write_hugging_face(run: Run, folder: Path, *, dataset: str | None = None) -> list[Path]:
    """Update the card in a checkout of a model repository, and write its result file.

    README.md gets the metadata that the Hub shows (`model-index`) and a section between two
    comments; what else it says stays. With `dataset`, the id of a benchmark dataset on the Hub,
    `.eval_results/clinometer-TOPIC.yaml` is written too, the file from which the Hub
    makes its tables of that dataset.
    """
    require("export hugging-face", "huggingface_hub")
    files = {folder / "README.md": _card(run, folder / "README.md").encode()}
    if dataset is not None:
        import yaml
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

        topic = run.record.topic.name
        # The interval stands in the notes: the format has no field for it.
        entries = [
            EvalResultEntry(
                dataset_id=dataset,
                task_id=f"{topic}_{name}",
                value=estimate.value,
                date=run.record.created or None,
                notes=f"{interval_words(estimate)}; {basis(run)} Lower is less risk.",
            )
            for name, estimate in estimates(run).items()
        ]
        content = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
        file = folder / ".eval_results" / f"{folder_name(f'clinometer-{topic}')}.yaml"
        files[file] = content.encode()
    write_files(files)
    return list(files)


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
        "The numbers describe probabilities of words for these groups in these contexts; they do "
        "not say that a model is fair or unfair in use.",
        "",
        f"Measured with clinometer {markdown_text(run.record.versions.get('clinometer', ''))}, "
        f"revision `{_code(run.record.model.revision)}`, {_code(run.record.created[:10])}.",
        "<!-- clinometer: end -->",
    ]
    return "\n".join(lines) + "\n"


def _card(run: Run, file: Path) -> str:
    import yaml
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

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

    topic, contexts = run.record.topic, run.record.contexts
    results = [
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
