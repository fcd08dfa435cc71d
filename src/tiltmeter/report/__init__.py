"""Pages and tables about runs; reads run folders only, never a model."""

from tiltmeter.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
