"""How finished runs are shown: a table with findings and notes, or one JSON object."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clinometer.cli.printing import print_json, say, sentence
from clinometer.cli.risks_table import print_risks
from clinometer.display.text import visible
from clinometer.errors import ClinometerError, Unmeasurable
from clinometer.runs import Run
from clinometer.runs.answers import answered_groups
from clinometer.runs.findings.risk import in_words
from clinometer.runs.names import label
from clinometer.runs.notes import is_reference, notes

MOST_NAMED = 4
"""Runs that a proposed command spells out."""


def show_runs(
    runs: list[Run],
    failed: Sequence[tuple[str, ClinometerError]] = (),
    *,
    json_output: bool,
) -> None:
    """Print the runs, what failed on stderr, and what to do next."""
    if json_output:
        print_json(as_json(runs, failed))
    elif runs:
        print_runs(runs)
    for _, error in failed:
        say(error)
    if runs:
        stream = sys.stderr if json_output else sys.stdout
        folders = [run.path for run in runs if run.path]
        stream.write(visible(where_next(folders)) + "\n")


def print_runs(runs: list[Run]) -> None:
    """Print what was found, the risks of all runs in one table, and notes on each."""
    for run in runs:
        if not is_reference(run):
            sentence(run.findings[0].text)
    risks = []
    bounds = {}
    floors = {}
    for run in runs:
        name = label(run.model)
        risks.append((name, run.risks))
        floors[name] = run.record.floor
        if run.record.bounds:
            bounds[name] = run.record.bounds
    print_risks(risks, title=_title(runs), bounds=bounds, floors=floors)
    several = len(runs) > 1
    for run in runs:
        lines = notes(run)
        if several and lines:
            sentence(label(run.model), style="bold")
        for line in lines:
            sentence(line, indent="  " if several else "")


def _title(runs: list[Run]) -> str:
    """Return the topic and contexts, and what the intervals are."""
    topic = runs[0].record.topic
    contexts = runs[0].record.contexts.name
    estimate = runs[0].risks.R
    for run in runs:
        if run.risks.R.level is not None:  # reference models have no intervals
            estimate = run.risks.R
            break
    name = topic.title or topic.name
    return f"{name}: {topic.groups} groups, contexts {contexts}; {in_words(estimate)}"


def where_next(folders: list[Path]) -> str:
    """Return the last line: where the results are, and what to do next.

    >>> print(where_next([Path("runs/a")]))
    Kept in runs/a. Next: clinometer report runs/a --out report.html, or clinometer view runs
    >>> print(where_next([Path(f"runs/{source}/{model}") for source in "ab" for model in "xyz"]))
    Kept in runs. Next: clinometer view runs
    """
    top = Path(os.path.commonpath([folder.parent for folder in folders]))
    place = shlex.quote(str(folders[0] if len(folders) == 1 else top))
    view = shlex.join(["clinometer", "view", str(top)])
    if len(folders) > MOST_NAMED:
        return f"Kept in {place}. Next: {view}"
    page = shlex.join(
        ["clinometer", "report", *map(str, folders), "--out", "report.html"]
    )
    return f"Kept in {place}. Next: {page}, or {view}"


def as_json(
    runs: list[Run], failed: Sequence[tuple[str, ClinometerError]]
) -> dict[str, Any]:
    """Return one object, always of the same shape: the runs and the failures."""
    failures = []
    unmeasurable = []
    for model, error in failed:
        failure: dict[str, Any] = {"model": model, "error": str(error)}
        if isinstance(error, Unmeasurable):
            unmeasurable.append({**failure, "other": error.other})
        else:
            failures.append(failure)
    return {
        "runs": [_run_as_json(run) for run in runs],
        "failed": failures,
        "unmeasurable": unmeasurable,
    }


_PARTS_OF_RECORD = (
    "summary",
    "criterion",
    "floor",
    "factors",
    "calibration",
    "other",
    "protocol",
    "imported",
    "corrected",
    "counts",
    "bounds",
    "replies",
    "usage",
)
"""What the JSON of a run has of its record, where the record has it."""


def _run_as_json(run: Run) -> dict[str, Any]:
    record = run.record.to_dict()
    return {
        "model": run.model,
        "path": None if run.path is None else str(run.path),
        "n_contexts": run.risks.n_contexts,
        "n_eff": run.risks.n_eff,
        "findings": [finding.to_dict() for finding in run.findings],
        "preference_bound": run.record.preference_bound,
        "risk_bound": run.record.risk_bound,
        **{name: record[name] for name in _PARTS_OF_RECORD if name in record},
        "groups": answered_groups(run),
        "leans": [lean.to_dict() for lean in run.leans],
    }
