"""clinometer reliability tune: fine-tune a model to place blanks, on expert examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import progress
from clinometer.cli.reliability.common import (
    FormatOption,
    StatementsArgument,
    read_statements,
)
from clinometer.reliability.blanks.tune import TuneSettings, tune_points


@grouped
def tune_command(
    sources: StatementsArgument,
    out: Annotated[Path, opt("New folder for the adapter; pass it as --model.")],
    model: Annotated[str, opt("The causal model to adapt.")] = "smollm2",
    examples: Annotated[int, opt("Sample this many statements.", allowed=ranges.COUNT)] = 30,
    format: FormatOption = None,
    *,
    settings: Annotated[
        TuneSettings, "epochs", "rank", "learning_rate", "last_layers", "seed", "device"
    ],
    json_output: JSON = False,
) -> None:
    """Fine-tune a LoRA adapter on statements with context_points, as the paper did with 30."""
    statements = read_statements(sources, format=format, limit=examples, seed=settings.seed)
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
