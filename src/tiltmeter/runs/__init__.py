"""One audit from start to end: the grid, the scores, the run folder."""

from tiltmeter.runs.alignment import compare_runs
from tiltmeter.runs.audit import audit
from tiltmeter.runs.preferences import Preferences
from tiltmeter.runs.run import Run
from tiltmeter.runs.settings import AuditSettings
from tiltmeter.runs.store import RunFolder
from tiltmeter.runs.table import from_frame, read_table

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
