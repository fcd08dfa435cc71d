"""Reliability runs as one HTML page: a single file, no request, everything escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from clinometer.display.numbers import between, counted, risk
from clinometer.display.text import brief
from clinometer.errors import ClinometerError
from clinometer.reliability.benchmark_table import benchmark_tables
from clinometer.reliability.folder import RANDOM_FOLDER, ReliabilityFolder, run_folder
from clinometer.reliability.run import ReliabilityRun
from clinometer.report.charts.cobias import cobias_chart
from clinometer.report.chips import Chip, Strip, span
from clinometer.report.document import asset, render_document
from clinometer.report.export import write_as
from clinometer.report.figure import Figure, chart
from clinometer.report.tables import settings_table
from clinometer.statistics.estimate import Estimate, around
from clinometer.storage.untrusted import read_json
from clinometer.tables import Table

_ROWS = 16
"""Statements on the first screen."""

_LISTED = 40
"""Statements whose versions are listed."""

FIXES = {
    "nothing_to_score": "The models see nothing to score: mark a target term, or lengthen it.",
    "no_versions": "No version could be scored: write versions that keep the target term.",
    "target_not_in_sentence": "The target term does not occur in the sentence: correct it.",
}
"""Why a statement has no score, or what is unusual about one that has; and what to do."""


def reliability_story(run: ReliabilityRun) -> dict[str, Any]:
    """Return what the page of a run says, in order: what `reliability_parts.html` shows."""
    frame = run.statements
    scored = frame[frame["cobias"].notna()].sort_values("cobias", kind="stable")
    names = ", ".join(model.id for model in run.record.models)
    listed = [_statement(run, row) for _, row in scored.head(_LISTED).iterrows()]
    findings = [finding.text for finding in run.findings]
    *benchmarks, statements = reliability_tables(run)
    return {
        "title": f"{findings[0]} Not yet checked against people.",
        "lede": (
            "COBIAS is how much added context changes what a model makes of a statement. Higher is "
            "more reliable: so the paper's Table 2 reads it, and so do people's judgements. Its "
            f"definition reads the other way; stability is 1 − COBIAS. Scored by {names}."
        ),
        "strip": _strip(run),
        "badge": _badge(frame, scored),
        "length": [
            finding.text for finding in run.findings if finding.kind == "length"
        ],
        "picture": _picture(scored) if len(scored) else None,
        "lowest": listed[:3],
        "listed": listed,
        "notes": list(dict.fromkeys(findings)),
        "statements": statements,
        "benchmarks": [
            table
            for table in benchmarks
            if table.key == "benchmarks" or len(table.frame) > 1
        ],
        "settings": settings_table(run.record.to_dict()),
    }


def _strip(run: ReliabilityRun) -> Strip | None:
    """Return the mean COBIAS on its axis, before that of random words in the place of context,
    where they were asked; None without a score."""
    mean = run.summary.get("cobias")
    stability = run.summary.get("stability")
    if mean is None or stability is None:
        return None
    about = (
        "As printed: higher is more reliable. Stability, 1 − COBIAS, is "
        f"{risk(stability.value)}."
    )
    interval = between(mean.low, mean.high)
    of_context = Chip("mean COBIAS", risk(mean.value), interval, "b", about)
    chance = _random_words(run)
    value = "not asked"
    chance_span = None
    if chance is not None:
        value = between(chance.low, chance.high)
        chance_span = span(chance)
    about = "COBIAS with random words in the place of context: what any words do."
    of_chance = Chip("random words", value, "", "c", about)
    return Strip(
        parts=(mean.value, mean.value),
        interval=span(mean),
        chance=chance_span,
        ends=("0: least reliable", "1: most reliable"),
        key=(of_context, of_chance),
    )


def _random_words(run: ReliabilityRun) -> Estimate | None:
    """Return the mean COBIAS of the control that `reliability validate` keeps in the run's
    folder."""
    if run.path is None:
        return None
    try:
        return ReliabilityRun.load(run.path / RANDOM_FOLDER).summary.get("cobias")
    except ClinometerError:
        return None  # not asked, or half written


def _badge(frame: pd.DataFrame, scored: pd.DataFrame) -> str:
    """Return what the scores rest on, and the next step."""
    return (
        f"Evidence: {len(scored):,} of {counted(len(frame), 'statement')} scored, "
        f"{int(frame['scored'].sum()):,} versions · next: ask people (reliability annotate)"
    )


def _statement(run: ReliabilityRun, row: pd.Series) -> dict[str, Any]:
    """Return a statement with its score, what to do about it, and its versions, those that change
    most first."""
    versions = run.versions[
        (run.versions["id"] == row["id"]) & run.versions["tau"].notna()
    ]
    versions = versions.assign(change=versions["tau"] - row["tau"])
    versions = versions.sort_values("change", key=lambda c: -c.abs(), kind="stable")
    value = float(row["cobias"])
    low = float(row["cobias_low"])
    high = float(row["cobias_high"])
    return {
        "id": str(row["id"]),
        "category": _written(row["category"]),
        "text": str(row["text"]),
        "tau": float(row["tau"]),
        "cobias": around(value, low, high, 0.95, "versions"),
        "fix": _fix(_written(row["flag"])),
        "versions": [
            {
                "text": str(version["text"]),
                "change": version["change"],
                "said": change_text(version["change"]),
            }
            for version in versions.to_dict("records")
        ],
    }


def change_text(change: float) -> str:
    """Return a change of tau in words: tau is the surprise of the statement's words, so less of it
    makes them likelier.

    >>> change_text(0.001), change_text(-1.0), change_text(20.0)
    ('words as likely as before', 'words 2.7 × likelier', 'words over a million × less likely')
    """
    times = math.exp(min(abs(change), 700.0))
    if times < 1.005:
        return "words as likely as before"
    direction = "less likely" if change > 0 else "likelier"
    if times < 100:
        return f"words {times:.2g} × {direction}"
    if times < 1e6:
        return f"words {times:,.0f} × {direction}"
    return f"words over a million × {direction}"


def _written(value: str | float | None) -> str:
    """Return text of a table; "" where there is none."""
    return "" if value is None or pd.isna(value) else str(value)


def _fix(flag: str) -> str:
    """Return what to do about a flag."""
    return FIXES.get(flag, flag.replace("_", " "))


_STATEMENT_COLUMNS = (
    "category",
    "text",
    "cobias",
    "stability",
    "rank",
    "rank_length_adjusted",
    "scored",
    "to_fix",
)
"""What a page shows of its statements; files have every column."""

_BENCHMARK_COLUMNS: tuple[str, ...] = (
    "source",
    "category",
    "statements",
    "scored",
    "cobias",
    "stability",
    "dissimilarity_pairwise",
    "dissimilarity_to_statement",
)
"""What a page shows of benchmarks and categories; of several benchmarks also the rank."""


def reliability_tables(run: ReliabilityRun) -> list[Table]:
    """Return Table 2 of the paper for the run and its categories, if anything has a score, and
    every statement by its COBIAS."""
    rows = run.statements.sort_values("cobias", kind="stable", ignore_index=True)
    rows["to_fix"] = [_fix(_written(flag)) for flag in rows["flag"]]
    rows["category"] = [_written(category) for category in rows["category"]]
    statements = _table("statements", "Every statement", rows, _STATEMENT_COLUMNS)
    if rows["cobias"].isna().all():
        return [statements]
    benchmarks, categories = benchmark_tables(rows)
    columns = _BENCHMARK_COLUMNS
    if len(benchmarks) > 1:
        columns = (*columns, "rank")
    return [
        _table("benchmarks", "Benchmarks", benchmarks, columns),
        _table("categories", "Categories", categories, columns),
        statements,
    ]


def _table(key: str, title: str, frame: pd.DataFrame, columns: Sequence[str]) -> Table:
    """Return a table that shows some columns, with their intervals, where they are not empty."""
    hidden = []
    for name in map(str, frame.columns):
        is_empty = (frame[name].isna() | frame[name].eq("")).all()
        if name.removesuffix("_low").removesuffix("_high") not in columns or is_empty:
            hidden.append(name)
    return Table(key, title, frame, hidden=tuple(hidden))


def _picture(scored: pd.DataFrame) -> Figure:
    """Return the statements with the lowest COBIAS as a chart."""
    rows = scored.head(_ROWS)
    selection = f"{len(rows)} of {len(scored):,} statements, the lowest COBIAS first. "
    rows = rows.assign(statement=[brief(text, 60) for text in rows["text"]])
    columns = [
        "id",
        "text",
        "cobias",
        "cobias_low",
        "cobias_high",
        "stability",
        "scored",
    ]
    return replace(
        chart(
            "statements",
            "Which statements are least reliable",
            f"{selection}Dot: COBIAS. Thick: its interval.",
            rows,
            "{statement}: {cobias:.3f}",
            cobias_chart,
        ),
        table=scored[columns],
    )


def is_reliability_run(path: Path) -> bool:
    """Return whether a folder is that of a reliability run, or of the audit that it belongs to."""
    try:
        content = read_json(run_folder(path) / "run.json")
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == ReliabilityFolder.kind


def render_reliability(run: ReliabilityRun) -> str:
    """Return the page as text."""
    story = reliability_story(run)
    return render_document("reliability.html", scripts=[asset("page.js")], story=story)


def write_reliability_report(run: ReliabilityRun, out: Path) -> list[Path]:
    """Write the page, its tables or its chart, as the ending of `out` says; return the files."""

    def figures() -> list[Figure]:
        picture = reliability_story(run)["picture"]
        return [] if picture is None else [picture]

    return write_as(
        out,
        page=lambda: render_reliability(run),
        tables=lambda: reliability_tables(run),
        figures=figures,
    )
