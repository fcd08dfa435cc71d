"""Audits: the grid, the scores, the run folder."""

from clinometer.runs.audit import audit
from clinometer.runs.compare import compare
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.read_preferences import read_table, risks
from clinometer.runs.run import Run
from clinometer.runs.settings import AuditSettings

__all__ = [
    "AuditSettings",
    "Run",
    "RunFolder",
    "audit",
    "compare",
    "read_table",
    "risks",
]
