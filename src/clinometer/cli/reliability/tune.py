"""clinometer reliability tune: a model taught to place blanks by expert examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import progress
from clinometer.cli.reliability.common import (
    FormatOption,
    StatementsArgument,
    read_statements,
)


def tune_command(
    source: StatementsArgument,
    out: Annotated[Path, typer.Option(help="A new folder for the adapter; use it as --model.")],
    model: Annotated[str, typer.Option(help="The causal model to adapt.")] = "smollm2",
    examples: Annotated[int, number_option(ranges.COUNT, "Take so many statements (--seed).")] = 30,
    epochs: Annotated[int, number_option(ranges.COUNT, "Times that every example is seen.")] = 3,
    rank: Annotated[int, number_option(ranges.COUNT, "Rank of the adapter.")] = 8,
    learning_rate: Annotated[float, number_option(ranges.POSITIVE, "Of AdamW; falls to 0.")] = 1e-3,
    last_layers: Annotated[
        int | None,
        number_option(ranges.COUNT, "Adapt only so many layers from the top: much faster."),
    ] = None,
    format: FormatOption = None,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the sample and of the training.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    json_output: JSON = False,
) -> None:
    """Fine-tune a model (LoRA) on statements with context_points, as the paper did with 30."""
    from clinometer.models import LoadOptions
    from clinometer.reliability.blanks.tune import TuneSettings, tune_points

    settings = TuneSettings(
        epochs=epochs,
        rank=rank,
        learning_rate=learning_rate,
        last_layers=last_layers,
        seed=seed,
        load=LoadOptions(device=device),
    )
    statements = read_statements(source, format=format, limit=examples, seed=seed)
    with progress("training", unit="steps", start=f"loading {model}") as watch:
        found = tune_points(model, statements, out, settings=settings, progress=watch)
    if json_output:
        print_json({"summary": found.to_dict()})
        return
    losses = ", ".join(f"{loss:.3f}" for loss in found.losses)
    console().print(
        f"{found.examples} examples, {found.seconds:.0f} s; loss by epoch: {losses}\n"
        f"use it: clinometer reliability points … --model {found.folder}",
        markup=False,
        soft_wrap=True,
    )
