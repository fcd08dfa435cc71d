"""Pages, charts and tables about runs; reads run folders only, never a model."""

from clinometer.report.figure import Figure
from clinometer.report.opening import Opened, open_run, open_runs
from clinometer.report.page import Extra, render_report, write_report
from clinometer.report.table import Table

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
