"""Pages, charts and tables about runs; reads run folders only, never a model."""

from tiltmeter.report.figure import Figure
from tiltmeter.report.opening import Opened, open_run, open_runs
from tiltmeter.report.page import Extra, render_report, write_report
from tiltmeter.report.table import Table

__all__ = [
    "Extra",
    "Figure",
    "Opened",
    "Table",
    "open_run",
    "open_runs",
    "render_report",
    "write_report",
]
