"""clinometer reliability variants: the blanks filled in many plausible ways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    StatementsArgument,
    read_statements,
)
from clinometer.reliability.variants import VariantSettings, make_variants


@grouped
def variants_command(
    sources: StatementsArgument,
    out: Annotated[
        Path | None, opt("A .jsonl file for reliability score; written as it goes, and resumed.")
    ] = None,
    dissimilarity: Annotated[
        bool,
        opt(
            "Measure how far the versions differ in meaning (all-MiniLM-L6-v2).",
            "--dissimilarity/--no-dissimilarity",
        ),
    ] = True,
    format: FormatOption = None,
    limit: LimitOption = None,
    *,
    settings: Annotated[
        VariantSettings, "n", "model", "filler", "temperature", "rounds", "seed", "device"
    ],
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    json_output: JSON = False,
) -> None:
    """Write context-added versions of statements that have blanks (context_points).

    A version is kept only if the statement's words survive in order and every addition is at a
    blank. Rejected versions are counted by reason.
    """
    statements = read_statements(sources, format=format, limit=limit, seed=settings.seed)
    embed = None
    if dissimilarity:
        from clinometer.models.texts.embeddings import SentenceEncoder

        embed = SentenceEncoder(device=settings.load.device).embed
    with progress("versions", unit="statements", start="loading models", kept=Kept(out)) as watch:
        found = make_variants(
            statements, settings=settings, out=out, fresh=fresh, embed=embed, progress=watch
        )
    if json_output:
        print_json({"summary": found.counts, "statements": found.rows})
        return
    for row in found.rows[:3]:
        for version in row["variants"][:3]:
            console().print(f"{row['id']}: {version}", soft_wrap=True)
    _print_summary(found.counts)


def _print_summary(counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, dict):
            inner = [f"{k.replace('_', ' ')} {_said(v)}" for k, v in value.items() if v]
            value = "; ".join(inner) or None
        if value is not None:
            console().print(f"{name.replace('_', ' ')}: {_said(value)}")


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in value.items()) + ")"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
