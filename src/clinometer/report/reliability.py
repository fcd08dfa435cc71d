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
from clinometer.report.document import asset, render_document
from clinometer.report.export import write_as
from clinometer.report.figure import Figure, chart
from clinometer.report.page import Chip, Strip, span
from clinometer.report.tables import settings_table
from clinometer.statistics.estimate import Estimate, around
from clinometer.storage.untrusted import read_json
from clinometer.tables import Table

_ROWS = 16  # statements on the first screen
_LISTED = 40  # statements whose versions are listed

#: Why a statement has no score, or what is unusual about one that has; and what to do.
FIXES = {
    "nothing_to_score": "The models see nothing to score: mark a target term, or lengthen it.",
    "no_versions": "No version could be scored: write versions that keep the target term.",
    "target_not_in_sentence": "The target term does not occur in the sentence: correct it.",
}


def reliability_story(run: ReliabilityRun) -> dict[str, Any]:
    """What the page of a run says, in order: what `reliability_parts.html` shows."""
    frame = run.statements
    scored = frame[frame["cobias"].notna()].sort_values("cobias", kind="stable")
    names = ", ".join(m.id for m in run.record.models)
    listed = [_statement(run, row) for _, row in scored.head(_LISTED).iterrows()]
    findings = [f.text for f in run.findings]
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
        "length": [f.text for f in run.findings if f.kind == "length"],
        "picture": _picture(scored) if len(scored) else None,
        "lowest": listed[:3],
        "listed": listed,
        "notes": list(dict.fromkeys(findings)),
        "statements": statements,
        "benchmarks": [
            t for t in benchmarks if t.key == "benchmarks" or len(t.frame) > 1
        ],
        "settings": settings_table(run.record.to_dict()),
    }


def _strip(run: ReliabilityRun) -> Strip | None:
    """The mean COBIAS on its axis, before that of random words in the place of context, where they
    were asked; None without a score."""
    e, stability = run.summary.get("cobias"), run.summary.get("stability")
    if e is None or stability is None:
        return None
    about = (
        "As printed: higher is more reliable. Stability, 1 − COBIAS, is "
        f"{risk(stability.value)}."
    )
    key = [Chip("mean COBIAS", risk(e.value), between(e.low, e.high), "b", about)]
    chance = _random_words(run)
    about = "COBIAS with random words in the place of context: what any words do."
    given = "not asked" if chance is None else between(chance.low, chance.high)
    key.append(Chip("random words", given, "", "c", about))
    return Strip(
        (e.value, e.value),
        span(e),
        None if chance is None else span(chance),
        ("0: least reliable", "1: most reliable"),
        tuple(key),
    )


def _random_words(run: ReliabilityRun) -> Estimate | None:
    """The mean COBIAS of the control that `reliability validate` keeps in the run's folder."""
    if run.path is None:
        return None
    try:
        return ReliabilityRun.load(run.path / RANDOM_FOLDER).summary.get("cobias")
    except ClinometerError:
        return None  # not asked, or half written


def _badge(frame: pd.DataFrame, scored: pd.DataFrame) -> str:
    """What the scores rest on, and the next step."""
    return (
        f"Evidence: {len(scored):,} of {counted(len(frame), 'statement')} scored, "
        f"{int(frame['scored'].sum()):,} versions · next: ask people (reliability annotate)"
    )


def _statement(run: ReliabilityRun, row: pd.Series) -> dict[str, Any]:
    """A statement with its score, what to do about it, and its versions, those that change most
    first."""
    versions = run.versions[
        (run.versions["id"] == row["id"]) & run.versions["tau"].notna()
    ]
    versions = versions.assign(change=versions["tau"] - row["tau"])
    versions = versions.sort_values("change", key=lambda c: -c.abs(), kind="stable")
    value, low, high = (float(row[f"cobias{end}"]) for end in ("", "_low", "_high"))
    return {
        "id": str(row["id"]),
        "category": _written(row["category"]),
        "text": str(row["text"]),
        "tau": float(row["tau"]),
        "cobias": around(value, low, high, 0.95, "versions"),
        "fix": _fix(_written(row["flag"])),
        "versions": [
            {
                "text": str(v["text"]),
                "change": v["change"],
                "said": said_of_change(v["change"]),
            }
            for v in versions.to_dict("records")
        ],
    }


def said_of_change(change: float) -> str:
    """A change of tau in words: tau is the surprise of the statement's words, so less of it makes
    them likelier.

    >>> said_of_change(0.001), said_of_change(-1.0), said_of_change(20.0)
    ('words as likely as before', 'words 2.7 × likelier', 'words over a million × less likely')
    """
    times = math.exp(min(abs(change), 700.0))
    if times < 1.005:
        return "words as likely as before"
    shown = (
        f"{times:.2g}"
        if times < 100
        else f"{times:,.0f}"
        if times < 1e6
        else "over a million"
    )
    return f"words {shown} × {'less likely' if change > 0 else 'likelier'}"


def _written(value: str | float | None) -> str:
    """Text of a table; "" where there is none."""
    return "" if value is None or pd.isna(value) else str(value)


def _fix(flag: str) -> str:
    return FIXES.get(flag, flag.replace("_", " "))


#: What a page shows of its tables; files have every column.
_OF_STATEMENTS = (
    *("category", "text", "cobias", "stability"),
    *("rank", "rank_length_adjusted", "scored", "to_fix"),
)
_OF_BENCHMARKS = (
    *("source", "category", "statements", "scored", "cobias", "stability"),
    *("dissimilarity_pairwise", "dissimilarity_to_statement", "rank"),
)


def reliability_tables(run: ReliabilityRun) -> list[Table]:
    """Table 2 of the paper for the run and its categories, if anything has a score, and every
    statement by its COBIAS."""
    rows = run.statements.sort_values("cobias", kind="stable", ignore_index=True)
    rows["to_fix"] = [_fix(_written(flag)) for flag in rows["flag"]]
    rows["category"] = [_written(category) for category in rows["category"]]
    tables = [_table("statements", "Every statement", rows, _OF_STATEMENTS)]
    if rows["cobias"].notna().any():
        benchmarks, categories = benchmark_tables(rows)
        ranked = _OF_BENCHMARKS if len(benchmarks) > 1 else _OF_BENCHMARKS[:-1]
        tables.insert(0, _table("benchmarks", "Benchmarks", benchmarks, ranked))
        tables.insert(1, _table("categories", "Categories", categories, ranked))
    return tables


def _table(key: str, title: str, frame: pd.DataFrame, shown: Sequence[str]) -> Table:
    """A table that shows some columns, with their intervals, where they are not empty."""
    hidden = [
        name
        for name in map(str, frame.columns)
        if name.removesuffix("_low").removesuffix("_high") not in shown
        or (frame[name].isna() | frame[name].eq("")).all()
    ]
    return Table(key, title, frame, hidden=tuple(hidden))


def _picture(scored: pd.DataFrame) -> Figure:
    rows = scored.head(_ROWS)
    many = f"{len(rows)} of {len(scored):,} statements, the lowest COBIAS first. "
    said = rows.assign(said=[brief(text, 60) for text in rows["text"]])
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
            f"{many}Dot: COBIAS. Thick: its interval.",
            said,
            "{said}: {cobias:.3f}",
            cobias_chart,
        ),
        table=scored[columns],
    )


def is_reliability_run(path: Path) -> bool:
    """Whether a folder is that of a reliability run, or of the audit that it belongs to."""
    try:
        content = read_json(run_folder(path) / "run.json")
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == ReliabilityFolder.kind


def render_reliability(run: ReliabilityRun) -> str:
    """The page as text."""
    story = reliability_story(run)
    return render_document("reliability.html", scripts=[asset("page.js")], story=story)


def write_reliability_report(run: ReliabilityRun, out: Path) -> list[Path]:
    """Write the page, its tables or its chart, as the ending of `out` says; returns the files."""
    return write_as(
        out,
        page=lambda: render_reliability(run),
        tables=lambda: reliability_tables(run),
        figures=lambda: list(filter(None, [reliability_story(run)["picture"]])),
    )
