"""A table of preferences that is measured without a model: its risks, leans and findings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from clinometer.errors import SettingsError, TableError
from clinometer.findings.finding import Finding
from clinometer.measure import RiskReport
from clinometer.measure.leaning import GroupLean
from clinometer.runs.findings.facts import facts_of_table
from clinometer.runs.findings.of_run import statements
from clinometer.runs.read_preferences import read_table
from clinometer.runs.settings import AuditSettings


@dataclass(frozen=True)
class MeasuredTable:
    """The risks of a table, which way its groups lean, and what was found."""

    report: RiskReport
    leans: tuple[GroupLean, ...]
    findings: tuple[Finding, ...]


def measure_table(path: Path, settings: AuditSettings) -> MeasuredTable:
    """Return what a table of preferences comes to, by the settings of intervals."""
    clusters = settings.clusters
    preferences = read_table(path, labels=() if clusters is None else (clusters,))
    try:
        preferences = replace(preferences, criterion=settings.criterion)
        report = preferences.estimate(**settings.inference())
    except SettingsError as error:
        # The options are in range: the table cannot answer them.
        raise TableError(f"{path}: {error}") from error
    leans = preferences.leans(**settings.inference())
    facts = facts_of_table(path.stem, preferences, report, leans, clusters=clusters)
    return MeasuredTable(report, leans, statements(facts))
