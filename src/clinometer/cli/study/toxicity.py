"""clinometer study toxicity: fine-tune a model, and score it before and after."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.option import opt
from clinometer.cli.parameters import GROUPS, grouped, topic_of
from clinometer.cli.progress import progress
from clinometer.cli.study.frame import carry_out
from clinometer.cli.study.options import CONTEXTS, TOPIC, StudyOutput
from clinometer.runs import AuditSettings


@grouped
def toxicity_command(
    model: Annotated[str, typer.Argument(help="A causal model with weights.")],
    texts: Annotated[list[Path], typer.Argument(metavar="TEXTS...", help=".csv, .jsonl or .txt.")],
    column: Annotated[str | None, opt("The column that contains the texts.")] = None,
    where: Annotated[
        list[str] | None, opt("COLUMN=VALUE,…: use only these rows; may be repeated.")
    ] = None,
    max_texts: Annotated[
        int | None, opt("Sample at most this many texts.", allowed=ranges.COUNT)
    ] = None,
    epochs: Annotated[float, opt("Passes over the texts.", allowed=ranges.POSITIVE)] = 2.0,
    learning_rate: Annotated[float, opt("Peak learning rate.", allowed=ranges.POSITIVE)] = 1e-5,
    warmup: Annotated[
        float, opt("Share of steps for learning-rate warmup.", allowed=ranges.SHARE_BELOW_1)
    ] = 0.2,
    batch: Annotated[int, opt("Texts per batch.", allowed=ranges.COUNT)] = 1,
    accumulation: Annotated[int, opt("Batches per optimizer step.", allowed=ranges.COUNT)] = 4,
    max_tokens: Annotated[
        int, opt("Truncate texts to this many tokens.", allowed=ranges.TOKENS)
    ] = 64,
    lora: Annotated[bool, opt("Train only a LoRA adapter.", "--lora")] = False,
    rank: Annotated[int, opt("Rank of the adapter.", allowed=ranges.COUNT)] = 16,
    topic: TOPIC = "gender",
    groups: GROUPS = None,
    contexts: CONTEXTS = None,
    *,
    settings: Annotated[AuditSettings, "max_contexts", "device", "seed"],
    output: StudyOutput,
) -> None:
    """Fine-tune a model on toxic text and compare it with itself (Figure 6, D.4).

    The texts are never printed. The trained model stays in the study's folder: do not deploy it.
    """
    from clinometer.studies.between_models.toxicity import toxicity_findings, toxicity_plan
    from clinometer.studies.fine_tuning.finetune import Training, finetuned
    from clinometer.studies.fine_tuning.training_texts import read_texts, some_of

    folder = output.folder("toxicity")
    chosen = some_of(
        read_texts(texts, column=column, where=where or ()), max_texts, seed=settings.seed
    )
    training = Training(
        epochs=epochs,
        learning_rate=learning_rate,
        warmup=warmup,
        batch=batch,
        accumulation=accumulation,
        lora=lora,
        rank=rank,
        max_tokens=max_tokens,
        seed=settings.seed,
    )
    plan = toxicity_plan(
        model,
        folder,
        chosen,
        topic=topic_of(topic, groups),
        contexts=contexts,
        settings=settings,
        training=training,
    )

    def train() -> None:
        if output.fresh:
            shutil.rmtree(folder / "model", ignore_errors=True)
        with progress("training", unit="steps", start=f"loading {model}") as watch:
            finetuned(model, chosen, folder / "model", training=training, progress=watch)

    carry_out(
        plan,
        lambda asked: toxicity_findings(asked, texts=len(chosen), training=training),
        output=output,
        before=train,
    )
