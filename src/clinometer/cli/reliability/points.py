"""clinometer reliability points: where context could be added."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from clinometer import ranges
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
from clinometer.cli.table import TerminalTable
from clinometer.reliability import load_statements
from clinometer.reliability.blanks import PointSettings, propose_points
from clinometer.reliability.blanks.evaluate import point_score


@grouped
def points_command(
    sources: StatementsArgument,
    out: Annotated[
        Path | None, opt("A .jsonl file, one row per statement; written as it goes, and resumed.")
    ] = None,
    examples: Annotated[
        Path | None, opt("Statements with context_points to show to the model as examples.")
    ] = None,
    measure: Annotated[
        bool, opt("Compare with the statements' own context_points.", "--measure")
    ] = False,
    format: FormatOption = None,
    limit: LimitOption = None,
    *,
    settings: Annotated[
        PointSettings, "model", "attempts", "temperature", "seed", "parser", "device"
    ],
    top: Annotated[int, opt("Number of statements to show.", allowed=ranges.COUNT_OR_0)] = 10,
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    json_output: JSON = False,
) -> None:
    """Put blanks (___) into statements where context could be added.

    A model's answer is kept only if it adds nothing but blanks; otherwise the model is queried
    again, and finally the rules decide. Every row says which of the two proposed it.
    """
    settings = replace(settings, examples=_examples(examples))
    statements = read_statements(sources, format=format, limit=limit, seed=settings.seed)
    loading = f"loading {settings.model or settings.parser}"
    with progress("points", unit="statements", start=loading, kept=Kept(out)) as watch:
        found = propose_points(statements, settings=settings, out=out, fresh=fresh, progress=watch)
    summary = dict(found.counts)
    if measure:
        known = {i: s.points for i, s in enumerate(statements) if s.points}
        score = point_score(
            [found.rows[i]["context_points"] for i in known],
            list(known.values()),
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
    if path is None:
        return ()
    return tuple((s.text, s.points) for s in load_statements(path) if s.points)


def _print_summary(summary: dict[str, object]) -> None:
    score = summary.pop("against_given_points", None)
    outcomes = summary.pop("answers_by_outcome")
    for name, value in summary.items():
        if value is not None:
            number = f"{value:.0%}" if isinstance(value, float) else str(value)
            console().print(f"{name.replace('_', ' ')}: {number}")
    if isinstance(outcomes, dict) and outcomes:
        said = ", ".join(f"{k.replace('_', ' ')} {n}" for k, n in outcomes.items())
        console().print(f"answers by outcome: {said}")
    if isinstance(score, dict):
        parts = ", ".join(f"{k} {score[k]:.3f}" for k in ("precision", "recall", "f1"))
        console().print(f"against the given points: {parts}")
