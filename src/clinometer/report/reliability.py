"""Reliability runs as one HTML page: a single file, no request, everything escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from clinometer.display.numbers import between, counted, risk
from clinometer.display.table import Table
from clinometer.display.text import brief
from clinometer.errors import ClinometerError, TableError
from clinometer.measure import Estimate
from clinometer.reliability.benchmark_table import benchmark_tables, side_by_side
from clinometer.reliability.folder import RANDOM_FOLDER, ReliabilityFolder
from clinometer.reliability.run import ReliabilityRun, reading_notes
from clinometer.reliability.validation_status import validation_status
from clinometer.report import charts
from clinometer.report.document import asset, render_document
from clinometer.report.export import write_as
from clinometer.report.figure import Figure
from clinometer.report.summary import Chip, Strip
from clinometer.report.tables import settings_table
from clinometer.storage.untrusted import read_json

# --- The content of a reliability page: the least stable statements, and what changes them -------


_ROWS = 16  # statements on the first screen
_LISTED = 40  # statements whose versions are listed

#: Context changes a statement a lot where COBIAS is above this, its interval included.
A_LOT = 0.5

#: Why a statement has no score, or what is unusual about one that has; and what to do.
FIXES = {
    "nothing_to_score": "The models see nothing to score: mark a target term, or lengthen it.",
    "no_versions": "No version could be scored: write versions that keep the target term.",
    "target_not_in_sentence": "The target term does not occur in the sentence: correct it.",
}


@dataclass(frozen=True)
class VersionScore:
    """A version with its tau, and how far that is from the statement's."""

    text: str
    tau: float
    change: float

    @property
    def said(self) -> str:
        """The change in words: tau is the surprise of the statement's words, so less of it makes
        them likelier."""
        times = math.exp(min(abs(self.change), 700.0))
        if times < 1.005:
            return "words as likely as before"
        shown = (
            f"{times:.2g}" if times < 100 else f"{times:,.0f}" if times < 1e6 else "over a million"
        )
        return f"words {shown} × {'less likely' if self.change > 0 else 'likelier'}"


@dataclass(frozen=True)
class StatementScore:
    """A statement with its score, its versions (those that change most first), and its flag."""

    id: str
    source: str
    category: str
    text: str
    tau: float
    stability: float
    low: float | None
    high: float | None
    flag: str
    versions: tuple[VersionScore, ...]

    @property
    def fix(self) -> str:
        """What to do about it."""
        return _fix(self.flag)


@dataclass(frozen=True, eq=False)
class ReliabilityStory:
    """A page, in order."""

    title: str
    lede: str
    strips: tuple[Strip, ...]
    badge: str
    picture: Figure | None
    worst: tuple[StatementScore, ...]
    listed: tuple[StatementScore, ...]
    notes: tuple[str, ...]
    statements: Table
    benchmarks: tuple[Table, ...]
    settings: tuple[Table, ...]


def reliability_story(runs: Sequence[ReliabilityRun]) -> ReliabilityStory:
    """The page of one run, or of several that score the same benchmarks with other models."""
    frames = [run.statements.assign(run=i) for i, run in enumerate(runs)]
    frame = pd.concat(frames, ignore_index=True)
    scored = frame[frame["stability"].notna()].sort_values("stability", kind="stable")
    names = ", ".join(dict.fromkeys(m.id for run in runs for m in run.record.models))
    worst = [_statement(runs[int(row["run"])], row) for _, row in scored.head(_LISTED).iterrows()]
    return ReliabilityStory(
        title=_headline(runs, scored, worst),
        lede=(
            "COBIAS is how much added context changes what a model makes of a statement, stability "
            f"is 1 − COBIAS: 1, context changes nothing; a lot is a COBIAS above {A_LOT:g}. That a "
            f"change shows missing context is the method's premise. Scored by {names}."
        ),
        strips=tuple(strip for run in runs if (strip := _strip(run, named=len(runs) > 1))),
        badge=_badge(runs, frame, scored),
        picture=_picture(scored) if len(scored) else None,
        worst=tuple(worst[:3]),
        listed=tuple(worst),
        notes=tuple(dict.fromkeys(note for run in runs for note in reading_notes(run.record))),
        statements=_statements_table(frame),
        benchmarks=tuple(_benchmarks(side_by_side(runs))),
        settings=tuple(settings_table(run.record.to_dict()) for run in runs),
    )


def _headline(
    runs: Sequence[ReliabilityRun], scored: pd.DataFrame, worst: Sequence[StatementScore]
) -> str:
    """How many statements context changes a lot, which most, and whether people were asked."""
    if scored.empty:
        return "No statement has a score."
    least = scored["cobias_low"] if "cobias_low" in scored else scored["cobias"]
    n, lot = len(scored), int((least.fillna(scored["cobias"]) > A_LOT).sum())
    text = f"“{brief(worst[0].text, 70)}”"
    if n == 1:
        found = f"Context changes {text} {'a lot' if lot else 'little'}."
    elif lot:
        which = f"all {n:,}" if lot == n else f"{lot:,} of {n:,}"
        found = f"Context changes {which} statements a lot, {text} most."
    else:
        found = f"Context changes none of {n:,} statements a lot; {text} changes most."
    people = all(validation_status(run.record).validated for run in runs)
    return found if people else f"{found} Not yet checked against people."


def _strip(run: ReliabilityRun, *, named: bool) -> Strip | None:
    """The mean stability on its axis, before that of random words in the place of context, where
    they were asked; None without a score."""
    e, cobias = run.summary.get("stability"), run.summary.get("cobias")
    if e is None or cobias is None:
        return None
    about = f"1 − COBIAS, which is {risk(cobias.value)}: 1 if context changes nothing."
    name = f"{', '.join(m.id for m in run.record.models)}: " if named else ""
    key = [Chip(f"{name}mean stability", risk(e.value), between(e.low, e.high), "b", about)]
    chance = _random_words(run)
    about = "Stability with random words in the place of context: what any words do."
    given = "not asked" if chance is None else between(chance.low, chance.high)
    key.append(Chip("random words", given, "", "c", about))
    return Strip(
        (e.value, e.value),
        None if e.low is None or e.high is None else (e.low, e.high),
        None if chance is None or chance.low is None else (chance.low, chance.high or 1.0),
        ("0: context changes everything", "1: context changes nothing"),
        tuple(key),
    )


def _random_words(run: ReliabilityRun) -> Estimate | None:
    """The mean stability of the control that `reliability validate` keeps in the run's folder."""
    if run.path is None or not (run.path / RANDOM_FOLDER / "run.json").exists():
        return None
    try:
        return ReliabilityRun.load(run.path / RANDOM_FOLDER).summary.get("stability")
    except ClinometerError:
        return None  # half written


def _badge(runs: Sequence[ReliabilityRun], frame: pd.DataFrame, scored: pd.DataFrame) -> str:
    """What the scores rest on, and the next step."""
    rests_on = (
        f"Evidence: {len(scored):,} of {counted(len(frame), 'statement')} scored, "
        f"{int(frame['scored'].sum()):,} versions"
    )
    if all(validation_status(run.record).validated for run in runs):
        return f"{rests_on} · next: edit the least stable statements and score them again"
    return f"{rests_on} · next: ask people (reliability annotate)"


def _statement(run: ReliabilityRun, row: pd.Series) -> StatementScore:
    versions = run.versions
    mine = versions[(versions["id"] == row["id"]) & versions["tau"].notna()]
    own = float(row["tau"])
    found = [
        VersionScore(str(v["text"]), float(v["tau"]), float(v["tau"]) - own)
        for _, v in mine.iterrows()
    ]
    return StatementScore(
        str(row["id"]),
        str(row["source"] or ""),
        str(row["category"] or ""),
        str(row["text"]),
        own,
        float(row["stability"]),
        *_ends(row),
        str(row["flag"] or ""),
        tuple(sorted(found, key=lambda v: -abs(v.change))),
    )


def _ends(row: pd.Series) -> tuple[float | None, float | None]:
    """The interval of the stability: 1 minus that of COBIAS."""
    low, high = row.get("cobias_high"), row.get("cobias_low")
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return None, None
    return 1 - float(low), 1 - float(high)


def _rank(row: pd.Series) -> str:
    """The rank with its interval: 3 (1–12); 1 is the statement that context changes most."""
    rank, low, high = (row.get(name) for name in ("rank", "rank_low", "rank_high"))
    if rank is None or pd.isna(rank):
        return ""
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return f"{rank:.0f}"
    return f"{rank:.0f} ({low:.0f}–{high:.0f})"


def _fix(flag: str) -> str:
    return FIXES.get(flag, flag.replace("_", " "))


def _statements_table(frame: pd.DataFrame) -> Table:
    rows = frame.sort_values("stability", na_position="last", kind="stable")
    shown = pd.DataFrame(
        {
            "statement": rows["text"],
            "category": rows["category"],
            "stability": rows["stability"],
            "stability_low": [_ends(row)[0] for _, row in rows.iterrows()],
            "stability_high": [_ends(row)[1] for _, row in rows.iterrows()],
            "cobias": rows["cobias"],
            "rank": [_rank(row) for _, row in rows.iterrows()],
            "versions_scored": rows["scored"],
            "to_fix": [_fix(flag or "") for flag in rows["flag"]],
        }
    )
    if shown["category"].isna().all():
        shown = shown.drop(columns=["category"])
    if not shown["to_fix"].any():
        shown = shown.drop(columns=["to_fix"])
    return Table("statements", "Every statement", shown.reset_index(drop=True))


def reliability_tables(runs: Sequence[ReliabilityRun]) -> list[Table]:
    """Table 2 of the paper for these runs in full, its categories, and every statement by its
    stability."""
    statements = side_by_side(runs)
    benchmarks, categories = benchmark_tables(statements)
    rows = statements.sort_values("stability", na_position="last", kind="stable", ignore_index=True)
    return [
        Table("benchmarks", "Benchmarks", benchmarks),
        Table("categories", "Categories", categories),
        Table("statements", "Every statement", rows),
    ]


def _benchmarks(frame: pd.DataFrame) -> list[Table]:
    try:
        benchmarks, categories = benchmark_tables(frame)
    except TableError:
        return []
    columns = ["run", "source", "category", "statements", "scored", "stability", "cobias"]
    columns += ["cobias_low", "cobias_high", "dissimilarity", "rank", "cannot_be_told_from"]
    benchmarks = benchmarks.rename(columns={"like": "cannot_be_told_from"})
    benchmarks["rank"] = [_rank(row) for _, row in benchmarks.iterrows()]
    if len(benchmarks) == 1:
        benchmarks = benchmarks.drop(columns=["rank", "cannot_be_told_from"])
    tables = [Table("benchmarks", "Benchmarks", _only(benchmarks, columns))]
    if len(categories) > 1:
        tables.append(Table("categories", "Categories", _only(categories, columns)))
    return tables


def _only(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    return frame[[name for name in columns if name in frame]]


def _picture(scored: pd.DataFrame) -> Figure:
    rows = scored.head(_ROWS)
    many = f"{len(rows)} of {len(scored):,} statements, the least stable first. "
    said = "; ".join(
        f"{brief(t, 60)}: {risk(float(v))}"
        for t, v in zip(rows["text"], rows["stability"], strict=True)
    )
    ends = pd.DataFrame([_ends(row) for _, row in rows.iterrows()], columns=["low", "high"])
    shown = rows[["text", "stability"]].reset_index(drop=True).join(ends)
    frame = scored[["id", "text", "stability", "cobias", "cobias_low", "cobias_high", "scored"]]
    return Figure(
        key="statements",
        title="Which statements change with context",
        caption=f"{many}Dot: stability. Thick: its interval.",
        alt=f"Stability of the least stable statements. {said}.",
        draw=lambda width: charts.stability(shown, width=width),
        table=frame,
    )


# --- Reliability runs as one HTML page: a single file, no request, everything escaped ------------


def is_reliability_run(path: Path) -> bool:
    """Whether a folder's record is that of a reliability run; or its run's, of an audit."""
    inside = path / "run" / "run.json"
    try:
        content = read_json(inside if _is_audit(path) else path / "run.json")
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == ReliabilityFolder.kind


def _is_audit(path: Path) -> bool:
    """Whether it is the folder of a `reliability audit`, which holds its run."""
    return not (path / "run.json").exists() and (path / "audit.json").exists()


def render_reliability(runs: Sequence[ReliabilityRun]) -> str:
    """The page as text."""
    story = reliability_story(runs)
    return render_document("reliability.html", scripts=[asset("page.js")], story=story)


def write_reliability_report(runs: Sequence[ReliabilityRun], out: Path) -> list[Path]:
    """Write the page, its tables or its chart, as the ending of `out` says; returns the files."""

    def figures() -> list[Figure]:
        picture = reliability_story(runs).picture
        return [] if picture is None else [picture]

    return write_as(
        out,
        page=lambda: render_reliability(runs),
        tables=lambda: reliability_tables(runs),
        figures=figures,
    )
