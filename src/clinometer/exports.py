"""Runs in the format of another tool: the card of a model on the Hub."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from clinometer.display.numbers import MEASURES, SYMBOLS, between, counted, risk
from clinometer.errors import RunError
from clinometer.extras import require
from clinometer.report.export import markdown_text, write_files
from clinometer.runs import Run
from clinometer.storage.untrusted import folder_name

NAMES = {
    "R": "Discrimination risk R",
    "R_bias": f"Bias risk {SYMBOLS['R_bias']}",
    "R_volatility": f"Volatility risk {SYMBOLS['R_volatility']}",
}


SECTION = re.compile(r"<!-- clinometer: start -->.*?<!-- clinometer: end -->\n?", re.DOTALL)


def write_hugging_face(run: Run, folder: Path) -> list[Path]:
    """Update the card in a checkout of a model repository.

    README.md gets the metadata that the Hub shows (`model-index`) and a section between two
    comments; what else it says stays.
    """
    require("export hugging-face", "huggingface_hub")
    file = folder / "README.md"
    write_files({file: _card(run, file).encode()})
    return [file]


def card_section(run: Run) -> str:
    """The section in Markdown, between the comments by which it is found again."""
    risks, record = run.risks.summary, run.record
    groups = counted(len(run.risks.groups), "group")
    contexts = f"{counted(run.risks.n_contexts, 'context')} of {record.contexts.name}"
    scale = "from 0 to 1" if run.risks.criterion.normalize else "of the raw equations"
    basis = f"{record.topic.title or record.topic.name}: {groups} in {contexts}"
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
        f"{markdown_text(basis)}, {run.risks.n_eff:,.1f} effective. Scale {scale}; lower is less "
        "risk.",
        "",
        "The numbers describe probabilities of words for these groups in these contexts; they do "
        "not say that a model is fair or unfair in use.",
        "",
        f"Measured with clinometer {markdown_text(record.versions.get('clinometer', ''))}, "
        f"revision `{_code(record.model.revision)}`, {_code(record.created[:10])}.",
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
        for name, estimate in ((name, run.risks.summary[name]) for name in MEASURES)
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
