"""Statements to context-addition points: a model's answers, checked and retried, then rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinometer.display.plain import to_plain
from clinometer.errors import TableError
from clinometer.models import LoadOptions
from clinometer.models.catalog.open import open_writer
from clinometer.models.generation.writer import Writer, seed_for
from clinometer.ranges import COUNT, SEED, TEMPERATURE
from clinometer.reliability.benchmarks.generic_table import statement_row
from clinometer.reliability.blanks.positions import BlanksRefused, accept
from clinometer.reliability.blanks.prompts import points_prompt
from clinometer.reliability.blanks.rules import rule_points
from clinometer.reliability.parsing import DEFAULT_PARSER
from clinometer.reliability.statement import Statement
from clinometer.settings import check_settings, option
from clinometer.storage.jsonl import Lines
from clinometer.storage.resumable import Progress

#: Names of proposers.
MODEL, RULES, GIVEN = "model", "rules", "given"


@dataclass(frozen=True, kw_only=True)
class PointSettings:
    """How blanks are proposed; `examples` are (sentence, points) shown to the model first."""

    model: str | None = option(
        None, help="A model that proposes blanks.", unset="rules, which run offline"
    )
    attempts: int = option(
        3, help="Answers a model may give before the rules take over.", allowed=COUNT
    )
    temperature: float = option(
        0.7,
        help="Sampling temperature after the first attempt, which takes the most probable answer.",
        allowed=TEMPERATURE,
    )
    seed: int = option(0, help="Random seed.", allowed=SEED)
    parser: str = option(DEFAULT_PARSER, help="An installed spaCy pipeline.")
    examples: tuple[tuple[str, str], ...] = ()
    load: LoadOptions = field(default_factory=LoadOptions)

    def __post_init__(self) -> None:
        check_settings(self)

    def to_dict(self) -> dict[str, Any]:
        """The settings that affect the points."""
        return to_plain(self) | {"load": self.load.dtype}


@dataclass(frozen=True)
class ProposedPoints:
    """Rows as written (id, sentence, target_term, context_points, proposer, answers), and counts:
    the model's answers by outcome, and statements by proposer."""

    rows: list[dict[str, Any]]
    counts: dict[str, Any]


def propose_points(
    statements: Sequence[Statement],
    *,
    settings: PointSettings | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    writer: Writer | None = None,
    keep_given: bool = False,
) -> ProposedPoints:
    """Propose blanks for every statement. With `out` (a .jsonl file) rows are written as they are
    made, and the same call resumes; every other command reads the file as statements. Rows of
    statements that have changed since are made again. With `keep_given` statements that bring their
    own points keep them."""
    settings = settings or PointSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    with Lines(out, settings.to_dict()).resumed(fresh=fresh) as lines:
        lines.forget(s.id for s in statements if _is_stale(s, lines.rows.get(s.id), keep_given))
        missing = [s for s in statements if s.id not in lines.rows]
        if missing and settings.model is not None and writer is None:
            writer = open_writer(settings.model, load=settings.load)
        by_rule = rule_points(missing, parser=settings.parser)
        new = (
            _given(s) if keep_given and s.points else _row(s, rules, writer, settings)
            for s, rules in zip(missing, by_rule, strict=True)
        )
        rows = lines.take(new, [s.id for s in statements], progress)
        counts = _counts(rows)
        lines.finish(counts)
    return ProposedPoints(rows, counts)


def _row(
    statement: Statement, rules: str, writer: Writer | None, settings: PointSettings
) -> dict[str, Any]:
    answers: list[str] = []
    points, proposer = rules, RULES
    if writer is not None:
        turns = points_prompt(statement.text, settings.examples)
        length = 32 + 2 * len(statement.text.split()) * 2
        for attempt in range(settings.attempts):
            answer = writer.write(
                turns,
                temperature=settings.temperature if attempt else 0.0,
                seed=seed_for(settings.seed, statement.text, attempt),
                length=length,
            )[0]
            try:
                points = accept(answer, statement.text, statement.target_spans())
            except BlanksRefused as error:
                answers.append(error.reason)
            else:
                answers.append("accepted")
                proposer = MODEL
                break
    known = statement_row(statement)
    return {**known, "context_points": points, "proposer": proposer, "answers": answers}


def _given(statement: Statement) -> dict[str, Any]:
    return {**statement_row(statement), "proposer": GIVEN, "answers": []}


def _is_stale(statement: Statement, row: dict[str, Any] | None, keep_given: bool) -> bool:
    """Whether a row was made from another sentence, other target terms, or other given points."""
    if row is None:
        return False
    now = statement_row(statement)
    changed = any(row.get(name) != now[name] for name in ("sentence", "target_term"))
    given = keep_given and statement.points is not None and row["proposer"] == GIVEN
    return changed or (given and row["context_points"] != statement.points)


def _counts(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    answers = Counter(answer for row in rows for answer in row["answers"])
    proposers = Counter(row["proposer"] for row in rows)
    asked = answers.total()
    return {
        "statements": len(rows),
        "by_model": proposers[MODEL],
        "by_rules": proposers[RULES],
        "given": proposers[GIVEN],
        "without_blanks": sum("___" not in row["context_points"] for row in rows),
        "answers": asked,
        "acceptance": answers["accepted"] / asked if asked else None,
        "answers_by_outcome": dict(sorted(answers.items())),
    }
