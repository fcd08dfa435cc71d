"""How every study that scores models is carried out: its plan, the audits, what was found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from clinometer.cli.printing import print_json, print_table, say, sentence
from clinometer.cli.progress import Watch, progress
from clinometer.display.text import visible
from clinometer.errors import ClinometerError
from clinometer.models.catalog.suites import ZooEntry, members, suites
from clinometer.runs import AuditSettings
from clinometer.settings import option
from clinometer.storage.shard import Shard
from clinometer.studies.framework import (
    Findings,
    Plan,
    PlannedRun,
    Results,
    about,
    audit_all,
    check_writable,
)
from clinometer.topics import load_topic

_MOST_ROWS = 24
"""Tables up to this many rows are shown in the terminal; all are written as csv files."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Options of a study: what it asks and how, where it is stored, and how it is shown."""

    topic: str = option("gender", help="A built-in topic or a .toml file.")
    contexts: str | None = option(
        None,
        help="A built-in context set or a .csv or .txt file.",
        unset="the topic's own",
    )
    settings: AuditSettings = field(default_factory=AuditSettings)
    download: bool = option(
        False, help="Download the paper's models that are not on this machine."
    )
    out: Path | None = option(
        None, "--out", "-o", help="Folder of the study.", unset="studies/NAME"
    )
    only_plan: bool = option(
        False, "--plan", help="Print what the study would score, and exit."
    )
    fresh: bool = option(
        False, help="Start over instead of reusing scores in the folder."
    )
    shard: str | None = option(
        None,
        help="Do part I of N of the audits, counted from 0 (0/8), and stop: the same command "
        "without it has the findings.",
        advanced=True,
    )
    json_output: bool = option(
        False, "--json", help="Print one JSON object instead of a table."
    )

    def folder(self, study: str) -> Path:
        """Return the folder of a study."""
        return self.out or Path("studies") / study

    def models(self, names: list[str] | None, study: str) -> list[str | ZooEntry]:
        """Return the models of these names, or those of the paper; a suite is all its members."""
        models: list[str | ZooEntry] = []
        for name in names or [about(study).suite]:
            if name in suites():
                models += members(name, download=self.download)
            else:
                models.append(name)
        return models

    @property
    def question(self) -> dict[str, Any]:
        """Return what a plan is made of."""
        topic = load_topic(self.topic)
        return {"topic": topic, "contexts": self.contexts, "settings": self.settings}


def carry_out(
    plan: Plan,
    findings: Callable[[Results], Findings],
    output: Study,
    *,
    before: Callable[[], None] | None = None,
) -> None:
    """Print the plan, score, write, print: the same for every study that scores models.

    `before` makes what is needed first, such as a trained model. Where some models fail, what the
    others gave is written all the same, and the exit status is that of the worst failure.
    """
    folder = output.folder(plan.study)
    if output.shard is not None:
        plan = replace(plan, audits=Shard.parse(output.shard).part(plan.audits))
        if not plan.audits:
            return
    _show_plan(plan.to_dict(folder), output)
    if output.only_plan:
        return
    check_writable(folder)
    if before is not None:
        before()
    audits = _audit_all(plan, folder, fresh=output.fresh)
    not_scored = [(planned.label, str(error)) for planned, error in audits.failed]
    try:
        if output.shard is None:
            result = findings(audits.results)
            finish(replace(result, not_scored=not_scored), output)
    finally:  # also where the results are too few for the study
        for label, why in not_scored:
            say(f"{label}: not scored: {why}")
    if audits.failed and output.shard is None:
        raise typer.Exit(max(error.exit_status for _, error in audits.failed))


@dataclass(frozen=True)
class StudyAudits:
    """The audits of a study: their results, and those that failed with why."""

    results: Results
    failed: list[tuple[PlannedRun, ClinometerError]]


def _audit_all(plan: Plan, folder: Path, *, fresh: bool) -> StudyAudits:
    """Make the audits of a plan, each with a bar of its own."""
    if not plan.audits:  # a study of finished runs alone
        return StudyAudits([], [])
    with ExitStack() as bars:

        def watch(planned: PlannedRun) -> Watch:
            bars.close()
            run = folder / "runs" / planned.folder
            return bars.enter_context(progress(planned.label, kept=run))

        results, failed = audit_all(plan, folder, watch=watch, fresh=fresh)
    return StudyAudits(results, failed)


def _show_plan(plan: dict[str, Any], output: Study) -> None:
    """Print a plan where it is all that is asked for; else on stderr, but not beside JSON."""
    if output.only_plan and output.json_output:
        print_json(plan)
    elif output.only_plan:
        sys.stdout.write(visible(plan_text(plan)))
    elif not output.json_output:
        sys.stderr.write(visible(plan_text(plan)))


def plan_text(plan: dict[str, Any]) -> str:
    """Return the total, then one line per audit."""
    lines = [f"study {plan['study']}: {plan['prompts']:,} prompts to score\n"]
    for audit in plan["audits"]:
        state = ""
        if audit["absent"]:
            state = f": {audit['absent']}"
        elif audit["done"]:
            state = ": done"
        asked = f"{audit['prompts']:,} prompts ({audit['topic']}, {audit['contexts']})"
        lines.append(f"  {audit['label']}: {asked}{state}\n")
    return "".join(lines)


def finish(findings: Findings, output: Study) -> None:
    """Write the findings and print them."""
    folder = output.folder(findings.study)
    missing = findings.write(folder)
    if missing:
        say(f"no charts and no page: {missing}")
    if output.json_output:
        print_json(findings.to_dict())
        return
    for table in findings.tables:
        rows = len(table.frame)
        if rows > _MOST_ROWS:
            sentence(f"{table.title}: {rows} rows in tables/{table.key}.csv")
        else:
            print_table(table)
    for text in findings.sentences:
        sentence(text)
    written = "Tables" if missing else "Tables and charts"
    sentence(f"{written}: {folder}")
