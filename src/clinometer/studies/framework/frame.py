"""Shared by all studies: audits that resume, tables and charts on disk, a page.

A study runs ordinary audits in `runs/` below its folder, so that the same command resumes an
interrupted study, and each part can be viewed like any other run:

    DIR/runs/NAME/       one run folder per audit
    DIR/tables/*.csv     numbers in full
    DIR/charts/*.svg     and .png
    DIR/study.json       what --json prints
    DIR/report.html      the runs, then the study
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinometer.display.plain import plain_records
from clinometer.errors import ClinometerError, MissingExtra, RunError, SettingsError
from clinometer.extras import require
from clinometer.report import Extra, Figure, Table, write_report
from clinometer.report.export import write_csv, write_files
from clinometer.runs import Run, audit
from clinometer.storage.atomic import only_writer, replacing
from clinometer.storage.resumable import Progress
from clinometer.studies.framework.plan import Ask, Plan

#: Called before each audit; returns its progress callback.
Watch = Callable[[Ask], Progress | None]


@dataclass(frozen=True)
class Failed:
    """An audit that failed, and why."""

    ask: Ask
    error: ClinometerError


@dataclass(frozen=True, eq=False)
class Findings:
    """The result of a study: sentences, tables, charts, and the runs they come from."""

    study: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    runs: tuple[Run, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for a missing number."""
        return {
            "study": self.study,
            "title": self.title,
            "sentences": list(self.sentences),
            "tables": {t.key: plain_records(t.frame) for t in self.tables},
            "figures": [{"key": f.key, "title": f.title, "says": f.alt} for f in self.figures],
            "runs": [None if run.path is None else str(run.path) for run in self.runs],
        }

    def write(self, out: Path, *, page: bool = True) -> str:
        """Tables, charts, study.json and, with `page` and at least one run, report.html.

        Charts and page are skipped if they cannot be drawn; the return value says why.
        """
        out.mkdir(parents=True, exist_ok=True)
        with only_writer(out, out / ".lock", error=RunError):
            for folder in (out, out / "tables", out / "charts"):
                for stale in folder.glob(".*.tmp"):  # of a writer that was killed
                    stale.unlink(missing_ok=True)
            return self._write(out, page=page)

    def _write(self, out: Path, *, page: bool) -> str:
        write_csv(self.tables, out / "tables")
        missing = _cannot_draw()
        if not missing:
            drawn = {out / "charts" / f"{f.key}.svg": f.svg().encode() for f in self.figures}
            drawn |= {out / "charts" / f"{f.key}.png": f.png() for f in self.figures}
            write_files(drawn)
            if page and self.runs:
                extra = Extra(self.title, self.sentences, self.figures, self.tables)
                write_report(list(self.runs), out / "report.html", extras=[extra])
        with replacing(out / "study.json", error=RunError) as beside:
            text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
            beside.write_text(text + "\n", encoding="utf-8")
        return missing


def ask_all(
    plan: Plan, out: Path, *, watch: Watch | None = None, fresh: bool = False
) -> tuple[list[tuple[Ask, Run]], list[Failed]]:
    """Run every audit of the plan; a finished one is read, an interrupted one resumed.

    A model that fails does not stop the others. If all fail, the error is the study's.
    """
    if not plan.asks:
        raise SettingsError(f"study {plan.study}: expected at least one model, found none")
    done: list[tuple[Ask, Run]] = []
    failed: list[Failed] = []
    for ask in plan.asks:
        try:
            run = audit(
                ask.model,
                topic=ask.topic,
                contexts=ask.contexts,
                out=out / "runs" / ask.folder,
                settings=ask.settings,
                fresh=fresh,
                progress=watch(ask) if watch else None,
            )
        except ClinometerError as error:
            failed.append(Failed(ask, error))
        else:
            done.append((ask, run))
    if not done:
        raise failed[0].error
    return done, failed


def only(asked: list[tuple[Ask, Run]], role: str) -> list[tuple[str, Run]]:
    """Label and run of one part of a study."""
    return [(ask.label, run) for ask, run in asked if ask.role == role]


def _cannot_draw() -> str:
    """Why there are no charts; "" if there are."""
    try:
        require("drawing charts", "altair", "vl_convert")
    except MissingExtra as error:
        return str(error)
    return ""
