"""A benchmark from its files to scores in one resumable folder.

statements.csv    what was read: sentences, target terms, merged pairs
points.jsonl      the statements with blanks
versions.jsonl    the blanks filled
run/              the scores (a run folder)

Every step reads the file of the step before it. A file may be edited between two calls, the
benchmark's own included: what was made from the edited rows is then made again, and nothing else.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer.errors import ClinometerError, RunError, SettingsError, TableError
from clinometer.reliability.benchmarks import read_table_of_statements, statement_row
from clinometer.reliability.blanks import (
    PAPER_TEMPERATURE,
    MadeRows,
    PointSettings,
    propose_points,
)
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.scoring import score_reliability
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, Versions
from clinometer.reliability.variants import NO_FILLER, VariantSettings, make_variants
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import Identity, Recorded
from clinometer.storage.rows import csv_text
from clinometer.storage.untrusted import read_json

Stage = Callable[[str, str, int, int | None], None]
"""Called with (step, unit, done, total)."""

STATEMENTS = "statements"
POINTS = "points"
VERSIONS = "versions"

STEPS = (STATEMENTS, POINTS, VERSIONS)
"""The steps before scoring, in order; each leaves its file."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings:
    """How a benchmark is audited: the settings of its three steps."""

    points: PointSettings = field(default_factory=PointSettings)
    variants: VariantSettings = field(default_factory=VariantSettings)
    scoring: ReliabilitySettings = field(
        default_factory=lambda: ReliabilitySettings(versions=None)
    )

    def with_writer(
        self,
        writer: str | None,
        *,
        versions: int,
        examples: Sequence[Statement] = (),
    ) -> BenchmarkSettings:
        """Return the settings with a model that proposes blanks and writes versions.

        Where all is done as in the paper, its temperature is the paper's and phrases fill no blank.
        """
        pairs = tuple((s.text, s.points) for s in examples if s.points)
        points = replace(self.points, model=writer, examples=pairs)
        variants = replace(self.variants, model=writer, n=versions)
        if points.as_in_paper:
            defaults = (VariantSettings.filler, VariantSettings.temperature)
            if writer is None or (variants.filler, variants.temperature) != defaults:
                raise SettingsError(
                    "as_in_paper: expected with --writer, without filler and temperature"
                )
            variants = replace(
                variants,
                as_in_paper=True,
                temperature=PAPER_TEMPERATURE,
                filler=NO_FILLER,
            )
        return BenchmarkSettings(
            points=points,
            variants=variants,
            scoring=replace(self.scoring, versions=versions),
        )


@dataclass(frozen=True, eq=False)
class BenchmarkAudit:
    """What an audit leaves behind."""

    steps: dict[str, MadeRows]
    """What each of `STEPS` made, without those that it did not come to, or did not need because
    versions were given."""

    run: ReliabilityRun | None = None
    """The scores; None if it did not come to them."""

    changes: pd.DataFrame = field(default_factory=pd.DataFrame)
    """A row per statement whose text has changed since the last audit in this folder: both texts
    with their COBIAS, and whether it clearly rose or fell."""


class BenchmarkFolder(Recorded):
    """The folder of an audit; audit.json remembers what it was begun with."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lock_file = self.path / ".lock"
        self.record_file = self.path / "audit.json"
        self.statements_file = self.path / "statements.csv"

    def begin(self, identity: Identity) -> None:
        self.write_record(identity, statements={})

    def clear(self) -> None:
        for file in (self.record_file, self.statements_file):
            file.unlink(missing_ok=True)

    def statements(self, sources: Sequence[Statement]) -> list[Statement]:
        """Return the statements of statements.csv, which may have been edited. It is written first,
        and again when the sources have changed."""
        for stale in self.path.glob(".*.tmp"):  # of an audit that was killed
            stale.unlink(missing_ok=True)
        file = self.statements_file
        content = csv_text(pd.DataFrame([statement_row(s) for s in sources])).encode()
        digest = _digest(content)
        written = read_json(self.record_file).get("statements")
        written_digest = written.get("sha256") if isinstance(written, dict) else None
        if file.exists():
            if written_digest in (digest, None):
                return read_table_of_statements(file)
            self._check_replaceable(sources, digests=(written_digest, digest))
        with replacing(file, error=RunError) as temporary_file:
            temporary_file.write_bytes(content)
        self.write_record(self.earlier() or {}, statements={"sha256": digest})
        return read_table_of_statements(file)

    def _check_replaceable(
        self, sources: Sequence[Statement], *, digests: Collection[str]
    ) -> None:
        """Refuse to replace a statements.csv that was edited, or that has other statements."""
        file = self.statements_file
        if _digest(file.read_bytes()) not in digests:
            raise RunError(
                f"{file}: was edited, and so were the statements it was made from; remove it "
                "to take these"
            )
        ids = {statement.id for statement in read_table_of_statements(file)}
        if ids.isdisjoint(statement.id for statement in sources):
            raise RunError(
                f"{self.path}: has an audit of other statements; choose another --out, or "
                "--fresh to start over"
            )


def audit_benchmark(
    statements: Sequence[Statement],
    out: str | Path,
    *,
    models: Sequence[str] = ("pocket:bert",),
    variants: Versions | None = None,
    until: str | None = None,
    settings: BenchmarkSettings | None = None,
    fresh: bool = False,
    stage: Stage = lambda *_: None,
) -> BenchmarkAudit:
    """Make blanks, versions and scores for the statements of a benchmark, in the folder `out`, or
    the steps before scoring up to and with `until`.

    The same call resumes; statements that have changed since are scored again, and compared with
    what they were. `variants` are used instead of new versions.
    """
    if until is not None and until not in STEPS:
        raise SettingsError(
            f"until: expected one of {', '.join(STEPS)}; found {until!r}"
        )
    if not statements:
        raise TableError("statements: expected at least one, found none")
    settings = settings or BenchmarkSettings()
    folder = BenchmarkFolder(out)
    identity = {"versions": "made" if variants is None else "given"}
    with folder.opened(identity, fresh=fresh):
        read = folder.statements(statements)
        steps = {STATEMENTS: MadeRows([statement_row(s) for s in read], _counts(read))}
        if until == STATEMENTS:
            return BenchmarkAudit(steps)
        if variants is None or until == POINTS:
            steps[POINTS] = propose_points(
                read,
                settings=settings.points,
                out=folder.path / "points.jsonl",
                fresh=fresh,
                progress=partial(stage, "blanks", "statements"),
            )
            by_id = {row["id"]: row["context_points"] for row in steps[POINTS].rows}
            read = [replace(s, points=by_id[s.id]) for s in read]
        if until == POINTS:
            return BenchmarkAudit(steps)
        if variants is None:
            steps[VERSIONS] = make_variants(
                read,
                settings=settings.variants,
                out=folder.path / "versions.jsonl",
                fresh=fresh,
                progress=partial(stage, "versions", "statements"),
            )
            variants = {row["id"]: row["variants"] for row in steps[VERSIONS].rows}
        if until == VERSIONS:
            return BenchmarkAudit(steps)
        earlier_run = _finished_run(folder.path / "run")
        run = score_reliability(
            read,
            variants,
            models=models,
            out=folder.path / "run",
            settings=settings.scoring,
            fresh=fresh,
            renew=True,
            progress=partial(stage, "scores", "texts"),
        )
    if earlier_run is None:
        return BenchmarkAudit(steps, run)
    changes = changed_statements(earlier_run.statements, run.statements)
    return BenchmarkAudit(steps, run, changes)


def _finished_run(path: Path) -> ReliabilityRun | None:
    """Return the run of the last audit; None before the first one, or after one that was killed."""
    try:
        return ReliabilityRun.load(path)
    except ClinometerError:
        return None


def _counts(statements: Sequence[Statement]) -> dict[str, Any]:
    categories = Counter(s.category or "–" for s in statements)
    return {
        "statements": len(statements),
        "pairs": sum(s.other is not None for s in statements),
        "without_target": sum(not s.targets for s in statements),
        "target_not_in_sentence": sum(not s.has_its_targets for s in statements),
        "with_points": sum(s.points is not None for s in statements),
        "categories": dict(categories.most_common()),
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def changed_statements(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return the statements whose text has changed; clearly higher or lower only if the intervals
    do not meet."""
    rows = before.merge(after, on="id", suffixes=("_before", "_after"))
    rows = rows[rows["text_before"] != rows["text_after"]]
    value = _before_and_after(rows, "cobias")
    low = _before_and_after(rows, "cobias_low")
    high = _before_and_after(rows, "cobias_high")
    verdicts = {
        "cannot tell: not scored": np.isnan(value).any(axis=1),
        "cannot tell: no interval": np.isnan(low + high).any(axis=1),
        "clearly higher COBIAS": low[:, 1] > high[:, 0],
        "clearly lower COBIAS": high[:, 1] < low[:, 0],
    }
    change = np.select(list(verdicts.values()), list(verdicts), "no clear change")
    rows = rows.rename(columns={"text_before": "before", "text_after": "after"})
    names = ["id", "before", "after", "cobias_before", "cobias_after"]
    return rows[names].assign(change=change)


def _before_and_after(rows: pd.DataFrame, column: str) -> FloatArray:
    """Return a column before and after [n, 2]; NaN where there is none."""
    return rows.reindex(columns=[f"{column}_before", f"{column}_after"]).to_numpy(float)
