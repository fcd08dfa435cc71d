"""A run with what its pages need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clinometer.errors import RunError
from clinometer.report.cell_statistics import CellStatistics, drawn
from clinometer.runs import Run
from clinometer.runs.findings.of_run import run_findings
from clinometer.runs.folder.recover import LoadedRun
from clinometer.runs.names import label


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A run with what its pages need, each computed once."""

    opened: LoadedRun

    @property
    def whole(self) -> Run:
        """Return the run as it was measured; of a folder that could not be read an error says
        why."""
        if self.opened.run is None:
            raise RunError(self.opened.notice)
        return self.opened.run

    @cached_property
    def run(self) -> Run:
        """The run as it is drawn."""
        return drawn(self.whole)

    @cached_property
    def cells(self) -> CellStatistics:
        """The statistics of its cells."""
        return CellStatistics(self.run, self.whole)

    @property
    def title(self) -> str:
        """Return the headline."""
        finished = self.opened.state == "finished"
        findings = run_findings(self.run, label(self.opened.name), finished=finished)
        return findings[0].text
