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

from clinometer.errors import RunError, TableError
from clinometer.reliability.benchmarks import read_table_of_statements, statement_row
from clinometer.reliability.blank_contribution import blank_contributions
from clinometer.reliability.blanks import PointSettings, propose_points
from clinometer.reliability.folder import ValidationRecord
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.scoring import ReliabilitySettings, score_reliability
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.reliability.variants.make import VariantSettings, make_variants
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import Identity, Resumable, recorded_settings
from clinometer.storage.spreadsheet import no_formula

if TYPE_CHECKING:
    import pandas as pd

#: Called with (step, unit, done, total).
Stage = Callable[[str, str, int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings:
    """How a benchmark is audited: the settings of its three steps, and how many statements are
    looked at closely (which blank matters most)."""

    points: PointSettings = field(default_factory=PointSettings)
    variants: VariantSettings = field(default_factory=VariantSettings)
    scoring: ReliabilitySettings = field(default_factory=lambda: ReliabilitySettings(versions=None))
    fix: int = 10


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

    def __init__(self, path: Path) -> None:
        self.path, self.lock_file = path, path / ".lock"
        self.record_file = path / "audit.json"
        self.statements_file = path / "statements.csv"
        self.points_file, self.versions_file = path / "points.jsonl", path / "versions.jsonl"

    def earlier(self) -> Identity | None:
        return recorded_settings(self.record_file)

    def begin(self, identity: Identity) -> None:
        text = json.dumps({"schema_version": 1, "settings": dict(identity)}, indent=2)
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text + "\n", encoding="utf-8")

    def clear(self) -> None:
        for file in (self.record_file, self.statements_file):
            file.unlink(missing_ok=True)

    def statements(self, read: Sequence[Statement]) -> list[Statement]:
        """Those of statements.csv, which may have been edited; it is written first."""
        import pandas as pd

        if not self.statements_file.exists():
            frame = pd.DataFrame([statement_row(s) for s in read]).map(no_formula)
            with replacing(self.statements_file, error=RunError) as beside:
                frame.to_csv(beside, index=False)
        return read_table_of_statements(self.statements_file)


def audit_benchmark(
    statements: Sequence[Statement],
    out: str | Path,
    *,
    models: Sequence[str] = ("pocket:bert",),
    variants: VariantSet | None = None,
    settings: BenchmarkSettings | None = None,
    fresh: bool = False,
    stage: Stage | None = None,
    validation: ValidationRecord | None = None,
) -> BenchmarkAudit:
    """Blanks, versions, scores and what to fix for the statements of a benchmark, in the folder
    `out`. The same call resumes. `variants` are used instead of new versions; statements that
    bring their own points keep them; `validation` as in `score_reliability`."""
    settings = settings or BenchmarkSettings()
    if not statements:
        raise TableError("statements: expected at least one, found none")
    tell = stage or (lambda *_: None)
    folder = BenchmarkFolder(Path(out))
    counts: dict[str, dict[str, Any]] = {}
    with folder.opened(_identity(statements, variants), fresh=fresh):
        edited = folder.statements(statements)
        proposed = propose_points(
            edited,
            settings=settings.points,
            out=folder.points_file,
            fresh=fresh,
            progress=partial(tell, "blanks", "statements"),
            keep_given=True,
        )
        counts["points"] = proposed.counts
        rows = {row["id"]: row["context_points"] for row in proposed.rows}
        ready = [replace(s, points=rows[s.id]) for s in edited]
        if variants is None:
            made = make_variants(
                ready,
                settings=settings.variants,
                out=folder.versions_file,
                fresh=fresh,
                progress=partial(tell, "versions", "statements"),
            )
            counts["versions"], variants = made.counts, made.variants
        run = score_reliability(
            ready,
            variants,
            models=models,
            out=folder.path / "run",
            settings=settings.scoring,
            fresh=fresh,
            renew=True,
            progress=partial(tell, "scores", "texts"),
            validation=validation,
        )
        fix = _fix(ready, variants, models, settings, run, folder.path / "blanks", tell)
    return BenchmarkAudit(folder.path, run, fix, counts)


def _identity(statements: Sequence[Statement], variants: VariantSet | None) -> dict[str, Any]:
    rows = [statement_row(s) for s in statements]
    given = None if variants is None else variants.versions
    return {
        "statements": hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
        "versions": given and hashlib.sha256(json.dumps(given).encode()).hexdigest(),
    }


def _fix(
    statements: Sequence[Statement],
    variants: VariantSet,
    models: Sequence[str],
    settings: BenchmarkSettings,
    run: ReliabilityRun,
    out: Path,
    tell: Stage,
) -> pd.DataFrame:
    """One row per statement of the least stable ones: what to specify first, and the version that
    shows why."""
    import pandas as pd

    columns = ["id", "source", "text", "stability", "blank", "question", "share", "version"]
    scored = run.statements.dropna(subset=["stability"]).sort_values("stability", kind="stable")
    worst = scored.head(settings.fix)
    chosen = [s for s in statements if s.id in set(worst["id"]) and s.blanks and len(s.blanks)]
    if not chosen:
        return pd.DataFrame(columns=columns)
    few = VariantSet({s.id: variants.of(s) for s in chosen})
    plain = replace(settings.scoring, replicates=0)
    try:
        table = blank_contributions(
            chosen,
            few,
            models=models,
            settings=plain,
            out=out,
            renew=True,
            progress=partial(tell, "blanks of the least stable", "texts"),
        ).table
    except TableError:  # versions that change more than the blanks
        return pd.DataFrame(columns=columns)
    return _fix_rows(worst, chosen, table, run)[columns]


def _fix_rows(
    worst: pd.DataFrame, chosen: Sequence[Statement], table: pd.DataFrame, run: ReliabilityRun
) -> pd.DataFrame:
    import pandas as pd

    from clinometer.reliability.clarifying_questions import questions

    by_id = {s.id: s for s in chosen}
    own = run.statements.set_index("id")["tau"]
    versions = run.versions.dropna(subset=["tau"])
    found = []
    for row in worst.to_dict(orient="records"):
        statement, mine = by_id.get(row["id"]), table[table["id"] == row["id"]]
        if statement is None or statement.blanks is None or mine.empty:
            continue
        most = mine.iloc[0]
        some = versions[versions["id"] == row["id"]]
        strongest = some.loc[(some["tau"] - own[row["id"]]).abs().idxmax()]
        found.append(
            row
            | {
                "blank": f"{most['before']} ___".strip(),
                "question": questions(statement.blanks)[int(most["blank"])],
                "share": most["share"],
                "version": strongest["text"],
            }
        )
    columns = [*worst.columns, "blank", "question", "share", "version"]
    return pd.DataFrame(found, columns=columns)
