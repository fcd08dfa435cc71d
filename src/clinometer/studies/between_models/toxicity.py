"""Figure 6: a causal model before and after fine-tuning on toxic text, in the same contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clinometer.errors import RunError
from clinometer.report import Table
from clinometer.runs import AuditSettings, Run
from clinometer.studies.fine_tuning.finetune import Training
from clinometer.studies.framework.changes import (
    change_figures,
    change_table,
    change_tables,
    leaning_changes,
    moved,
    sentences,
)
from clinometer.studies.framework.defaults import study_contexts
from clinometer.studies.framework.frame import Findings
from clinometer.studies.framework.plan import Ask, Plan, asks_of, machine_speed, parameters_of
from clinometer.studies.framework.side_by_side import risks_table
from clinometer.topics import Topic

BEFORE, AFTER = "before", "after"
_MAY = (
    "The texts are a collection of toxic posts, unlike the data a model is first trained on; the "
    "change belongs to this model, these texts and these settings. The paper reports that bias "
    "rises and volatility falls for Llama 2.",
)


def toxicity_plan(
    model: str,
    out: Path,
    texts: Sequence[str],
    *,
    topic: Topic,
    contexts: str | None,
    settings: AuditSettings,
    training: Training,
) -> Plan:
    """The model, and the folder of its fine-tuned version, which the study makes in between."""
    chosen = study_contexts(topic, contexts)
    tuned = out / "model"
    (first,) = asks_of([model], topic, chosen, settings)
    second = replace(first, model=str(tuned), label=f"{model} {AFTER}", folder=AFTER, like=model)
    further: tuple[tuple[str, float], ...] = ()
    size = parameters_of(model)
    if not (tuned / "config.json").is_file() and size is not None:
        words = sum(min(training.max_tokens, 1.4 * len(t.split())) for t in texts)
        # Forward, backward and update: about six operations per parameter and token.
        seconds = 6 * size * words * training.epochs / (machine_speed() * 0.35)
        further = ((f"training on {len(texts):,} texts", seconds),)
    first = replace(first, label=f"{model} {BEFORE}", folder=BEFORE)
    return Plan("toxicity", (first, second), further)


def toxicity_findings(asked: list[tuple[Ask, Run]], *, texts: int, training: Training) -> Findings:
    """What changed in the risks and in the leaning of groups, in either direction."""
    if len(asked) != 2:
        raise RunError(
            "study toxicity: expected the model scored before and after, found one of them; rerun "
            "the same command"
        )
    before, after = ((ask.label, run) for ask, run in asked)
    changes = change_table(before, [after])
    leanings = leaning_changes(before, after)
    rows = {"after": leanings}
    way = f"LoRA of rank {training.rank}" if training.lora else "all weights"
    how = (
        f"Fine-tuned on {texts:,} texts: {way}, {training.epochs:g} epochs, learning rate "
        f"{training.learning_rate:g}, warm-up {training.warmup:g}, batch {training.batch} × "
        f"{training.accumulation}, texts truncated to {training.max_tokens} tokens."
    )
    tables: tuple[Table, ...] = (
        risks_table("toxicity-risks", "Risks before and after", [before, after]),
        *change_tables("toxicity", changes, rows),
    )
    return Findings(
        "toxicity",
        "Before and after fine-tuning on toxic text (Figure 6)",
        (how, *sentences(changes), moved(leanings, after[0]), *_MAY),
        tables,
        change_figures(
            "toxicity", [before, after], changes, title="Before and after toxic fine-tuning"
        ),
        (before[1], after[1]),
    )
