"""Pages, charts and tables about runs; reads run folders, never a model."""

from clinometer.report.figure import Figure
from clinometer.report.page import render_report, run_figure, write_report
from clinometer.report.questions import Extra
from clinometer.runs.folder.recover import LoadedRun, open_run, open_runs
from clinometer.tables import Table

__all__ = [
    "Extra",
    "Figure",
    "LoadedRun",
    "Table",
    "open_run",
    "open_runs",
    "render_report",
    "run_figure",
    "write_report",
]
