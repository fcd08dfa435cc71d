"""What all studies share: a plan, audits that resume, findings as tables and charts.

`Plan` says what will be scored, `audit_all` scores it, and `Findings` are written as tables, charts
and a page; data/studies.toml has their titles and notes.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from clinometer.contexts import ContextSet, builtin_contexts, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.display.text import plain_records
from clinometer.errors import (
    ClinometerError,
    MissingExtra,
    ModelNotFound,
    RunError,
    SettingsError,
)
from clinometer.extras import require
from clinometer.measure.risks import MEASURES
from clinometer.models.catalog.suites import ZooEntry
from clinometer.models.open import loaded_once
from clinometer.report import Extra, Figure, Table, write_report
from clinometer.report.export import to_csv, write_files
from clinometer.report.figures.models import risk_rows
from clinometer.runs import AuditSettings, Run, RunFolder, audit
from clinometer.settings import with_settings
from clinometer.storage.atomic import only_writer
from clinometer.storage.resumable import Progress
from clinometer.storage.untrusted import folder_name
from clinometer.topics import Topic

Models: TypeAlias = Sequence[str | ZooEntry]
"""Models by name, or as a suite has them."""


@dataclass(frozen=True)
class PlannedRun:
    """One audit of a study."""

    label: str
    """Its name in tables and charts."""

    model: str
    topic: Topic
    contexts: ContextSet
    settings: AuditSettings

    folder: str
    """Of the run, below the folder of the study."""

    role: str = ""
    """Its part in the study, such as the name of a source."""

    absent: str = ""
    """Why it is not scored, if that is known before."""

    @property
    def prompts(self) -> int:
        """Return how many prompts are asked."""
        most = self.settings.max_contexts or len(self.contexts)
        return len(self.topic) * min(len(self.contexts), most)


@dataclass(frozen=True)
class Plan:
    """All audits of a study."""

    study: str
    audits: Sequence[PlannedRun]

    def __post_init__(self) -> None:
        counts = Counter(planned.folder for planned in self.audits)
        repeated = sorted(folder for folder, n in counts.items() if n > 1)
        if repeated:
            raise SettingsError(
                f"study {self.study}: expected each model once, found {repeated[0]!r} twice"
            )

    def to_dict(self, out: Path) -> dict[str, Any]:
        """Return what remains to be scored, given what the study's folder `out` contains."""
        audits: list[dict[str, Any]] = [
            {
                "model": planned.model,
                "label": planned.label,
                "topic": planned.topic.name,
                "contexts": planned.contexts.name,
                "prompts": planned.prompts,
                "done": _finished(out / "runs" / planned.folder),
                "absent": planned.absent,
            }
            for planned in self.audits
        ]
        remaining = [
            audit for audit in audits if not (audit["done"] or audit["absent"])
        ]
        prompts = sum(audit["prompts"] for audit in remaining)
        return {"study": self.study, "prompts": prompts, "audits": audits}


def planned_runs(
    models: Models,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
    *,
    role: str = "",
) -> tuple[PlannedRun, ...]:
    """Return one audit per model, on the same topic and contexts; if `settings` ask for it, another
    inside the chat template."""
    prefix = f"{folder_name(role)}-" if role else ""
    names = [model if isinstance(model, str) else model.id for model in models]
    raw = with_settings(settings, {"chat": False})
    audits = []
    for model, name, label in zip(models, names, _labels(names), strict=True):
        folder = prefix + folder_name(name)
        planned = PlannedRun(label, name, topic, contexts, raw, folder, role=role)
        if isinstance(model, ZooEntry):
            planned = _as_in_suite(planned, model)
        audits.append(planned)
    if settings.load.chat:
        audits += [_inside_chat(planned) for planned in audits]
    return tuple(audits)


def _labels(names: Sequence[str]) -> Sequence[str]:
    """Return folders and files without their path, unless two would then have the same name."""
    short = [Path(name).name if Path(name).exists() else name for name in names]
    is_distinct = len(set(short)) == len(set(names))
    return short if is_distinct else names


def _as_in_suite(planned: PlannedRun, entry: ZooEntry) -> PlannedRun:
    """Return an audit of a model of a suite: only those that ship code may run it."""
    allow = planned.settings.load.allow
    if not entry.remote_code:
        allow = tuple(name for name in allow if name != "remote-code")
    settings = with_settings(planned.settings, {"allow": allow})
    return replace(planned, label=entry.name, settings=settings, absent=entry.absent)


def _inside_chat(planned: PlannedRun) -> PlannedRun:
    """Return the same audit inside the chat template."""
    return replace(
        planned,
        label=f"{planned.label} (chat)",
        folder=f"{planned.folder}-chat",
        settings=with_settings(planned.settings, {"chat": True}),
    )


def plan_of(
    study: str,
    parts: Iterable[tuple[str, Models, Topic, ContextSet]],
    settings: AuditSettings,
) -> Plan:
    """Plan every model of each part: its role in the study, its models, topic and contexts."""
    audits: list[PlannedRun] = []
    for role, models, topic, contexts in parts:
        audits += planned_runs(models, topic, contexts, settings, role=role)
    return Plan(study, audits)


def _finished(folder: Path) -> bool:
    """Return whether a folder has a finished run."""
    try:
        return RunFolder(folder).read_record().finished
    except ClinometerError:
        return False


Results: TypeAlias = list[tuple[PlannedRun, Run]]
"""The audits of a study that succeeded."""

Watch = Callable[[PlannedRun], Progress | None]
"""Called before each audit; returns its progress callback."""


class About(NamedTuple):
    """A study as its reader sees it."""

    title: str

    suite: str = ""
    """Where its models come from if none is named."""

    notes: Sequence[str] = ()
    """What a reader of its tables has to know."""


DATA = Path(__file__).parent / "data"
"""The folder of what studies read."""


@cache
def data(name: str) -> dict[str, Any]:
    """Read data/NAME.toml."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def about(study: str) -> About:
    """Return the entry of a study in data/studies.toml.

    >>> about("size").title
    'Risk and model size (Figure 7)'
    """
    return About(**data("studies")[study])


@dataclass(frozen=True, eq=False)
class Findings:
    """The result of any study."""

    study: str
    tables: Sequence[Table]
    figures: Sequence[Figure] = ()

    runs: Sequence[Run] = ()
    """Where the numbers come from."""

    measured: Sequence[str] = ()
    """Sentences about these numbers; the study's own notes follow them."""

    not_scored: Sequence[tuple[str, str]] = ()
    """Models that could not be scored, each with the reason."""

    @property
    def title(self) -> str:
        return about(self.study).title

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.measured, *about(self.study).notes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; None for a missing number."""
        figures = [
            {"key": figure.key, "title": figure.title, "says": figure.alt}
            for figure in self.figures
        ]
        not_scored = [
            {"model": model, "reason": reason} for model, reason in self.not_scored
        ]
        return {
            "study": self.study,
            "title": self.title,
            "sentences": list(self.sentences),
            "tables": {table.key: plain_records(table.frame) for table in self.tables},
            "figures": figures,
            "not_scored": not_scored,
            "runs": [None if run.path is None else str(run.path) for run in self.runs],
        }

    def write(self, out: Path) -> str:
        """Write tables, charts, study.json and, with at least one run, report.html.

        Charts and page are skipped if they cannot be drawn; the return value says why.
        """
        missing = ""
        try:
            require("drawing charts", "vl_convert")
        except MissingExtra as error:
            missing = str(error)
        check_writable(out)
        with only_writer(out, out / ".lock", error=RunError):
            _remove_half_written(out)
            tables = out / "tables"
            write_files(
                {tables / f"{table.key}.csv": to_csv(table) for table in self.tables}
            )
            if not missing:
                self._write_charts(out / "charts")
                if self.runs:
                    self._write_page(out / "report.html")
            text = json.dumps(
                self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False
            )
            write_files({out / "study.json": f"{text}\n".encode()})
        return missing

    def _write_charts(self, folder: Path) -> None:
        files = {
            folder / f"{figure.key}.svg": figure.svg().encode()
            for figure in self.figures
        }
        for figure in self.figures:
            files[folder / f"{figure.key}.png"] = figure.png()
        write_files(files)

    def _write_page(self, file: Path) -> None:
        not_scored = [
            f"Not scored: {model}: {reason}" for model, reason in self.not_scored
        ]
        study = Extra(
            self.title,
            (*self.sentences, *not_scored),
            tuple(self.figures),
            tuple(self.tables),
            first=True,
        )
        write_report(list(self.runs), file, extras=[study])


def check_writable(out: Path) -> None:
    """Make the folder of a study; refuse one that cannot be made or written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise RunError(
            f"{out}: cannot be written: {error.strerror}; choose another place with --out"
        ) from error


def _remove_half_written(out: Path) -> None:
    """Remove the files of a writer that was killed."""
    for folder in (out, out / "tables", out / "charts"):
        for file in folder.glob(".*.tmp"):
            file.unlink(missing_ok=True)


def audit_all(
    plan: Plan, out: Path, *, watch: Watch | None = None, fresh: bool = False
) -> tuple[Results, list[tuple[PlannedRun, ClinometerError]]]:
    """Run every audit of the plan; a finished one is read, an interrupted one resumed.

    A model that fails does not stop the others. If all fail, the error is the study's.
    """
    if not plan.audits:
        raise SettingsError(
            f"study {plan.study}: expected at least one model, found none"
        )
    results: Results = []
    failed: list[tuple[PlannedRun, ClinometerError]] = []
    with loaded_once():
        for planned in plan.audits:
            try:
                if planned.absent:
                    raise ModelNotFound(planned.absent)
                run = audit(
                    planned.model,
                    topic=planned.topic,
                    contexts=planned.contexts,
                    out=out / "runs" / planned.folder,
                    settings=planned.settings,
                    fresh=fresh,
                    progress=watch(planned) if watch else None,
                )
            except ClinometerError as error:
                failed.append((planned, error))
            else:
                results.append((planned, run))
    if not results:
        _, first_error = failed[0]
        raise first_error
    return results, failed


def only(results: Results, role: str) -> list[tuple[str, Run]]:
    """Return label and run of one part of a study."""
    return [(planned.label, run) for planned, run in results if planned.role == role]


def verdict(row: Mapping[Any, Any], *, higher: str, lower: str, neither: str) -> str:
    """Return value, interval and what they show, as one sentence.

    The row has `value`, `low` and `high`.

    >>> words = {"higher": "higher", "lower": "lower", "neither": "no difference shown"}
    >>> verdict({"value": 0.2, "low": 0.1, "high": 0.3}, **words)
    '+0.200 (+0.100 to +0.300): higher.'
    """
    if pd.isna(row["low"]):
        return f"{row['value']:+.3f}: too few effective contexts for an interval."
    conclusion = neither
    if row["low"] > 0:
        conclusion = higher
    elif row["high"] < 0:
        conclusion = lower
    interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
    return f"{row['value']:+.3f} ({interval}): {conclusion}."


def study_contexts(topic: Topic, contexts: str | None) -> ContextSet:
    """Return the given set; else the paper's set for the topic; else the one mined from
    Wikipedia."""
    if contexts is not None:
        return load_contexts(contexts, topic=topic)
    names = builtin_contexts()
    if f"paper-{topic.name}" not in names and f"wikipedia-{topic.name}" in names:
        return load_contexts("wikipedia", topic=topic)
    return default_contexts(topic)


def risks(named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """Return one row per run, lowest R first, with ranks (1 is lowest)."""
    runs = [run for _, run in named]
    names = [name for name, _ in named]
    frame = pd.DataFrame(risk_rows(runs, names))
    frame = frame.sort_values("R", kind="stable", ignore_index=True)
    for measure in MEASURES:
        frame[f"{measure}_rank"] = frame[measure].rank(method="min").astype(int)
    return frame


def risks_table(key: str, title: str, named: Sequence[tuple[str, Run]]) -> Table:
    """Return `risks` for a page: the three risks and the rank; the csv file has all columns."""
    hidden = ("n_contexts", "n_eff", "R_bias_rank", "R_volatility_rank")
    return Table(key, title, risks(named), hidden=hidden)
