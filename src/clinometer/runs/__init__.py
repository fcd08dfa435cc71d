"""One audit from start to end: the grid, the scores, the run folder."""

from clinometer.runs.alignment import compare_runs
from clinometer.runs.audit import audit
from clinometer.runs.preferences import Preferences
from clinometer.runs.run import Run
from clinometer.runs.settings import AuditSettings
from clinometer.runs.store import RunFolder
from clinometer.runs.table import from_frame, read_table

__all__ = [
    "AuditSettings",
    "Preferences",
    "Run",
    "RunFolder",
    "audit",
    "compare_runs",
    "from_frame",
    "read_table",
]
