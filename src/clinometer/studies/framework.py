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
from clinometer.report.figures import risk_rows
from clinometer.runs import AuditSettings, Run, RunFolder, audit
from clinometer.settings import with_settings
from clinometer.storage.atomic import only_writer
from clinometer.storage.resumable import Progress
from clinometer.storage.untrusted import folder_name
from clinometer.topics import Topic

#: Models by name, or as a suite has them.
Models: TypeAlias = Sequence[str | ZooEntry]


@dataclass(frozen=True)
class PlannedRun:
    """One audit of a study.

    label     its name in tables and charts
    folder    of the run, below the folder of the study
    role      its part in the study, such as the name of a source
    absent    why it is not scored, if that is known before
    """

    label: str
    model: str
    topic: Topic
    contexts: ContextSet
    settings: AuditSettings
    folder: str
    role: str = ""
    absent: str = ""

    @property
    def prompts(self) -> int:
        most = self.settings.max_contexts or len(self.contexts)
        return len(self.topic) * min(len(self.contexts), most)


@dataclass(frozen=True)
class Plan:
    """All audits of a study."""

    study: str
    audits: Sequence[PlannedRun]

    def __post_init__(self) -> None:
        counts = Counter(planned.folder for planned in self.audits)
        twice = sorted(folder for folder, n in counts.items() if n > 1)
        if twice:
            raise SettingsError(
                f"study {self.study}: expected each model once, found {twice[0]!r} twice"
            )

    def to_dict(self, out: Path) -> dict[str, Any]:
        """What remains to be scored, given what the study's folder `out` already contains."""
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
        prompts = sum(a["prompts"] for a in audits if not (a["done"] or a["absent"]))
        return {"study": self.study, "prompts": prompts, "audits": audits}


def planned_runs(
    models: Models,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
    *,
    role: str = "",
) -> tuple[PlannedRun, ...]:
    """One audit per model, on the same topic and contexts; if `settings` ask for it, another inside
    the chat template. Of a suite only the models that ship code may run it."""
    prefix = f"{folder_name(role)}-" if role else ""
    names = [m if isinstance(m, str) else m.id for m in models]
    # Folders and files without their path, unless two would then have the same name.
    short = [Path(name).name if Path(name).exists() else name for name in names]
    labels = short if len(set(short)) == len(set(names)) else names
    raw = with_settings(settings, {"chat": False})
    audits = []
    for model, name, label in zip(models, names, labels, strict=True):
        planned = PlannedRun(
            label, name, topic, contexts, raw, prefix + folder_name(name), role=role
        )
        if isinstance(model, ZooEntry):
            # A suite's own models may run no code unless they ship some.
            allow = tuple(
                a for a in raw.load.allow if a != "remote-code" or model.remote_code
            )
            own = with_settings(raw, {"allow": allow})
            planned = replace(
                planned, label=model.name, settings=own, absent=model.absent
            )
        audits.append(planned)
    if settings.load.chat:
        for a in tuple(audits):
            inside = with_settings(a.settings, {"chat": True})
            chat = replace(
                a, label=f"{a.label} (chat)", folder=f"{a.folder}-chat", settings=inside
            )
            audits.append(chat)
    return tuple(audits)


def plan_of(
    study: str,
    parts: Iterable[tuple[str, Models, Topic, ContextSet]],
    settings: AuditSettings,
) -> Plan:
    """Every model of each part: its role in the study, its models, topic and contexts."""
    planned = [planned_runs(m, t, c, settings, role=role) for role, m, t, c in parts]
    return Plan(study, [audit for some in planned for audit in some])


def _finished(folder: Path) -> bool:
    try:
        return RunFolder(folder).read_record().finished
    except ClinometerError:
        return False


#: The audits of a study that succeeded.
Results: TypeAlias = list[tuple[PlannedRun, Run]]
#: Called before each audit; returns its progress callback.
Watch = Callable[[PlannedRun], Progress | None]


class About(NamedTuple):
    """What a study is called, the suite that it takes its models from if none is named, and what a
    reader of its tables has to know."""

    title: str
    suite: str = ""
    notes: Sequence[str] = ()


DATA = Path(__file__).parent / "data"


@cache
def data(name: str) -> dict[str, Any]:
    """What data/NAME.toml says."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def about(study: str) -> About:
    """The entry of a study in data/studies.toml.

    >>> about("size").title
    'Risk and model size (Figure 7)'
    """
    return About(**data("studies")[study])


@dataclass(frozen=True, eq=False)
class Findings:
    """The result of any study: tables, charts, sentences, the runs they come from, and the models
    that could not be scored, each with the reason.

    `measured` are sentences about these numbers; the study's own notes follow them.
    """

    study: str
    tables: Sequence[Table]
    figures: Sequence[Figure] = ()
    runs: Sequence[Run] = ()
    measured: Sequence[str] = ()
    not_scored: Sequence[tuple[str, str]] = ()

    @property
    def title(self) -> str:
        return about(self.study).title

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.measured, *about(self.study).notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for a missing number."""
        return {
            "study": self.study,
            "title": self.title,
            "sentences": list(self.sentences),
            "tables": {t.key: plain_records(t.frame) for t in self.tables},
            "figures": [
                {"key": f.key, "title": f.title, "says": f.alt} for f in self.figures
            ],
            "not_scored": [{"model": m, "reason": why} for m, why in self.not_scored],
            "runs": [None if run.path is None else str(run.path) for run in self.runs],
        }

    def write(self, out: Path) -> str:
        """Tables, charts, study.json and, with at least one run, report.html.

        Charts and page are skipped if they cannot be drawn; the return value says why.
        """
        try:
            require("drawing charts", "vl_convert")
            missing = ""
        except MissingExtra as error:
            missing = str(error)
        out.mkdir(parents=True, exist_ok=True)
        with only_writer(out, out / ".lock", error=RunError):
            for folder in (out, out / "tables", out / "charts"):
                for stale in folder.glob(".*.tmp"):  # of a writer that was killed
                    stale.unlink(missing_ok=True)
            write_files(
                {out / "tables" / f"{t.key}.csv": to_csv(t) for t in self.tables}
            )
            if not missing:
                charts = {
                    out / "charts" / f"{f.key}.svg": f.svg().encode()
                    for f in self.figures
                }
                charts |= {
                    out / "charts" / f"{f.key}.png": f.png() for f in self.figures
                }
                write_files(charts)
            if self.runs and not missing:
                said = (
                    *self.sentences,
                    *(f"Not scored: {m}: {why}" for m, why in self.not_scored),
                )
                extra = Extra(
                    self.title,
                    said,
                    tuple(self.figures),
                    tuple(self.tables),
                    first=True,
                )
                write_report(list(self.runs), out / "report.html", extras=[extra])
            text = json.dumps(
                self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False
            )
            write_files({out / "study.json": f"{text}\n".encode()})
        return missing


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
    done: Results = []
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
                done.append((planned, run))
    if not done:
        raise failed[0][1]
    return done, failed


def only(results: Results, role: str) -> list[tuple[str, Run]]:
    """Label and run of one part of a study."""
    return [(planned.label, run) for planned, run in results if planned.role == role]


def verdict(row: Mapping[Any, Any], *, higher: str, lower: str, neither: str) -> str:
    """Value, interval and what they show, as one sentence: the row has `value`, `low`, `high`.

    >>> words = {"higher": "higher", "lower": "lower", "neither": "no difference shown"}
    >>> verdict({"value": 0.2, "low": 0.1, "high": 0.3}, **words)
    '+0.200 (+0.100 to +0.300): higher.'
    """
    if pd.isna(row["low"]):
        return f"{row['value']:+.3f}: too few effective contexts for an interval."
    shown = higher if row["low"] > 0 else lower if row["high"] < 0 else neither
    return f"{row['value']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f}): {shown}."


def study_contexts(topic: Topic, contexts: str | None) -> ContextSet:
    """The given set; else the paper's set for the topic; else the one mined from Wikipedia."""
    if contexts is not None:
        return load_contexts(contexts, topic=topic)
    names = builtin_contexts()
    if f"paper-{topic.name}" not in names and f"wikipedia-{topic.name}" in names:
        return load_contexts("wikipedia", topic=topic)
    return default_contexts(topic)


def risks(named: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """One row per run, lowest R first, with ranks (1 is lowest)."""
    frame = pd.DataFrame(
        risk_rows([run for _, run in named], [name for name, _ in named])
    )
    frame = frame.sort_values("R", kind="stable", ignore_index=True)
    for measure in MEASURES:
        frame[f"{measure}_rank"] = frame[measure].rank(method="min").astype(int)
    return frame


def risks_table(key: str, title: str, named: Sequence[tuple[str, Run]]) -> Table:
    """`risks` for a page: the three risks and the rank; the csv file has all columns."""
    hidden = ("n_contexts", "n_eff", "R_bias_rank", "R_volatility_rank")
    return Table(key, title, risks(named), hidden=hidden)
