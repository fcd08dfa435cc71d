"""A benchmark from its files to scores in one resumable folder.

statements.csv    what was read: sentences, target terms, merged pairs
points.jsonl      the statements with blanks
versions.jsonl    the blanks filled
run/              the scores (a run folder)
blanks/           the scores of single blanks, of the statements to fix

Every step reads the file of the step before it. A file may be edited between two calls: what was
made from the edited rows is then made again, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.errors import RunError, SettingsError, TableError
from clinometer.reliability.benchmarks import read_table_of_statements, statement_row
from clinometer.reliability.blank_contribution import blank_contributions
from clinometer.reliability.blanks import PointSettings, ProposedPoints, propose_points
from clinometer.reliability.clarifying_questions import questions
from clinometer.reliability.dissimilarity import Embed
from clinometer.reliability.folder import ValidationRecord
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.scoring import ReliabilitySettings, score_reliability
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.reliability.variants.make import MadeVariants, VariantSettings, make_variants
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import Identity, Resumable, recorded_settings
from clinometer.storage.spreadsheet import no_formula

if TYPE_CHECKING:
    import pandas as pd

#: Called with (step, unit, done, total).
Stage = Callable[[str, str, int, int | None], None]


def _silent(step: str, unit: str, done: int, total: int | None) -> None:
    """Report nothing."""


STATEMENTS, POINTS, VERSIONS = "statements", "points", "versions"
#: The steps before scoring, in order; each leaves its file.
STEPS = (STATEMENTS, POINTS, VERSIONS)


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings:
    """How a benchmark is audited: the settings of its three steps, how many statements are looked
    at closely (which blank matters most), and whether statements that bring their own points keep
    them."""

    points: PointSettings = field(default_factory=PointSettings)
    variants: VariantSettings = field(default_factory=VariantSettings)
    scoring: ReliabilitySettings = field(default_factory=lambda: ReliabilitySettings(versions=None))
    fix: int = 10
    keep_points: bool = True


@dataclass(frozen=True)
class PreparedBenchmark:
    """The steps before scoring; None where it stopped earlier, or versions were given."""

    statements: list[Statement]
    points: ProposedPoints | None = None
    versions: MadeVariants | None = None

    @property
    def counts(self) -> dict[str, dict[str, Any]]:
        steps = {POINTS: self.points, VERSIONS: self.versions}
        return {name: step.counts for name, step in steps.items() if step is not None}


@dataclass(frozen=True, eq=False)
class BenchmarkAudit:
    """What an audit leaves behind.

    run       the scores
    fix       the least stable statements, with the blank that matters most and the version that
              changes most; empty if the versions fill no blanks
    counts    of points and versions; empty where they were given
    """

    path: Path
    run: ReliabilityRun
    fix: pd.DataFrame
    counts: dict[str, dict[str, Any]]


class BenchmarkFolder(Resumable):
    """The folder of an audit; audit.json remembers what it was begun with."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lock_file, self.record_file = self.path / ".lock", self.path / "audit.json"
        self.statements_file = self.path / "statements.csv"

    def earlier(self) -> Identity | None:
        return recorded_settings(self.record_file)

    def begin(self, identity: Identity) -> None:
        text = json.dumps({"schema_version": 1, "settings": dict(identity)}, indent=2)
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text + "\n", encoding="utf-8")

    def clear(self) -> None:
        for file in (self.record_file, self.statements_file):
            file.unlink(missing_ok=True)

    def statements(self, sources: Sequence[Statement]) -> list[Statement]:
        """Those of statements.csv, which may have been edited; it is written first."""
        import pandas as pd

        if not self.statements_file.exists():
            frame = pd.DataFrame([statement_row(s) for s in sources]).map(no_formula)
            with replacing(self.statements_file, error=RunError) as beside:
                frame.to_csv(beside, index=False)
        return read_table_of_statements(self.statements_file)


def prepare_benchmark(
    statements: Sequence[Statement],
    out: str | Path,
    *,
    until: str = VERSIONS,
    settings: BenchmarkSettings | None = None,
    fresh: bool = False,
    stage: Stage = _silent,
    embed: Embed | None = None,
) -> PreparedBenchmark:
    """The steps of `audit_benchmark` before scoring, up to and with `until`; the audit continues
    from there. `embed` compares the meanings of versions."""
    if until not in STEPS:
        raise SettingsError(f"until: expected one of {', '.join(STEPS)}; found {until!r}")
    folder = BenchmarkFolder(out)
    settings = settings or BenchmarkSettings()
    with folder.opened(_identity(statements, None), fresh=fresh):
        return _prepare(folder, statements, until, settings, fresh, stage, embed)


def audit_benchmark(
    statements: Sequence[Statement],
    out: str | Path,
    *,
    models: Sequence[str] = ("pocket:bert",),
    variants: VariantSet | None = None,
    settings: BenchmarkSettings | None = None,
    fresh: bool = False,
    stage: Stage = _silent,
    validation: ValidationRecord | None = None,
    embed: Embed | None = None,
    max_dissimilarity: float | None = None,
) -> BenchmarkAudit:
    """Blanks, versions, scores and what to fix for the statements of a benchmark, in the folder
    `out`. The same call resumes. `variants` are used instead of new versions; `validation`, `embed`
    and `max_dissimilarity` as in `score_reliability`."""
    settings, folder = settings or BenchmarkSettings(), BenchmarkFolder(out)
    with folder.opened(_identity(statements, variants), fresh=fresh):
        until = VERSIONS if variants is None else POINTS
        prepared = _prepare(folder, statements, until, settings, fresh, stage, embed)
        made = prepared.versions
        variants = variants or VariantSet() if made is None else made.variants
        run = score_reliability(
            prepared.statements,
            variants,
            models=models,
            out=folder.path / "run",
            settings=settings.scoring,
            fresh=fresh,
            renew=True,
            progress=partial(stage, "scores", "texts"),
            validation=validation,
            embed=embed,
            max_dissimilarity=max_dissimilarity,
        )
        fix = _fix(prepared.statements, variants, run, settings, folder.path / "blanks", stage)
    return BenchmarkAudit(folder.path, run, fix, prepared.counts)


def _identity(statements: Sequence[Statement], variants: VariantSet | None) -> dict[str, Any]:
    if not statements:
        raise TableError("statements: expected at least one, found none")
    rows = [statement_row(s) for s in statements]
    versions = None if variants is None else variants.versions
    return {
        "statements": hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
        "versions": versions and hashlib.sha256(json.dumps(versions).encode()).hexdigest(),
    }


def _prepare(
    folder: BenchmarkFolder,
    sources: Sequence[Statement],
    until: str,
    settings: BenchmarkSettings,
    fresh: bool,
    stage: Stage,
    embed: Embed | None,
) -> PreparedBenchmark:
    statements = folder.statements(sources)
    if until == STATEMENTS:
        return PreparedBenchmark(statements)
    points = propose_points(
        statements,
        settings=settings.points,
        out=folder.path / "points.jsonl",
        fresh=fresh,
        progress=partial(stage, "blanks", "statements"),
        keep_given=settings.keep_points,
    )
    by_id = {row["id"]: row["context_points"] for row in points.rows}
    statements = [replace(s, points=by_id[s.id]) for s in statements]
    if until == POINTS:
        return PreparedBenchmark(statements, points)
    versions = make_variants(
        statements,
        settings=settings.variants,
        out=folder.path / "versions.jsonl",
        fresh=fresh,
        embed=embed,
        progress=partial(stage, "versions", "statements"),
    )
    return PreparedBenchmark(statements, points, versions)


def _fix(
    statements: Sequence[Statement],
    variants: VariantSet,
    run: ReliabilityRun,
    settings: BenchmarkSettings,
    out: Path,
    stage: Stage,
) -> pd.DataFrame:
    """One row per statement of the least stable ones: what to specify first, and the version that
    shows why."""
    import pandas as pd

    columns = ["id", "source", "text", "stability", "blank", "question", "share", "version"]
    scored = run.statements.dropna(subset=["stability"]).sort_values("stability", kind="stable")
    worst = scored.head(settings.fix)
    blanks_of = {s.id: s.blanks for s in statements if s.blanks}
    chosen = [s for s in statements if s.id in blanks_of and s.id in set(worst["id"])]
    try:
        blanks, _ = blank_contributions(
            chosen,
            VariantSet({s.id: variants.of(s) for s in chosen}),
            models=[m.id for m in run.record.models],
            settings=replace(settings.scoring, replicates=0),
            out=out,
            renew=True,
            progress=partial(stage, "blanks of the least stable", "texts"),
        )
    except TableError:  # no blanks, or versions that change more than the blanks
        return pd.DataFrame(columns=columns)
    first = blanks.drop_duplicates("id").set_index("id")
    versions = run.versions.dropna(subset=["tau"])
    rows = []
    for row in worst[worst["id"].isin(first.index)].to_dict("records"):
        blank, own = first.loc[row["id"]], versions[versions["id"] == row["id"]]
        strongest = own.loc[(own["tau"] - row["tau"]).abs().idxmax()]
        rows.append(
            row
            | {
                "blank": f"{blank['before']} ___".strip(),
                "question": questions(blanks_of[row["id"]])[int(blank["blank"])],
                "share": blank["share"],
                "version": strongest["text"],
            }
        )
    return pd.DataFrame(rows, columns=columns)
