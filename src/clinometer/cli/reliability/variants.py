"""clinometer reliability variants: the blanks filled in many plausible ways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    StatementsArgument,
    read_statements,
)


def variants_command(
    source: StatementsArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="A .jsonl file that score reads: written as it goes, and continued."),
    ] = None,
    n: Annotated[
        int, number_option(ranges.COUNT, "Versions of each statement.", "-n", "--versions")
    ] = 40,
    model: Annotated[
        str | None, typer.Option(help="A model that writes versions; without one a filler does.")
    ] = None,
    filler: Annotated[
        str | None,
        typer.Option(
            help="A masked or causal model that fills what is left open. Default: the writing "
            "model where it is local, else pocket:bert."
        ),
    ] = None,
    temperature: Annotated[float, number_option(ranges.TEMPERATURE, "Of all samples.")] = 1.1,
    rounds: Annotated[
        int, number_option(ranges.COUNT, "A model is asked for at most so many times n answers.")
    ] = 2,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of all samples.")] = 0,
    dissimilarity: Annotated[
        bool,
        typer.Option(
            "--dissimilarity/--no-dissimilarity", help="Compare meanings (all-MiniLM-L6-v2)."
        ),
    ] = True,
    format: FormatOption = None,
    limit: LimitOption = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing --out.")
    ] = False,
    json_output: JSON = False,
) -> None:
    """Write context-added versions of statements that have blanks (context_points).

    A version is kept only when the statement's words survive in order and everything else stands at
    a blank. What was refused is counted by reason.
    """
    from clinometer.models import LoadOptions
    from clinometer.reliability.variants import VariantSettings, make_variants

    settings = VariantSettings(
        n=n,
        model=model,
        filler=filler,
        temperature=temperature,
        rounds=rounds,
        seed=seed,
        load=LoadOptions(device=device),
    )
    statements = read_statements(source, format=format, limit=limit, seed=seed)
    embed = None
    if dissimilarity:
        from clinometer.models.texts.embeddings import SentenceEncoder

        embed = SentenceEncoder(device=device).embed
    with progress("versions", unit="statements", start="loading models", kept=Kept(out)) as watch:
        found = make_variants(
            statements, settings=settings, out=out, fresh=fresh, embed=embed, progress=watch
        )
    if json_output:
        print_json({"summary": found.counts, "statements": found.rows})
        return
    for row in found.rows[:3]:
        for version in row["variants"][:3]:
            console().print(f"{row['id']}: {version}", markup=False, soft_wrap=True)
    _print_summary(found.counts)


def _print_summary(counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, dict):
            inner = [f"{k.replace('_', ' ')} {_said(v)}" for k, v in value.items() if v]
            value = "; ".join(inner) or None
        if value is not None:
            console().print(f"{name.replace('_', ' ')}: {_said(value)}", markup=False)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in value.items()) + ")"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
