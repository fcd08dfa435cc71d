"""Options of the study commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.option import opt
from clinometer.runs import AuditSettings
from clinometer.settings import option

MODELS = Annotated[list[str], typer.Argument(metavar="MODEL...", help="Models, as for audit.")]
RUNS = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
TOPIC = Annotated[str, opt("A built-in topic or a .toml file.")]
CONTEXTS = Annotated[
    str | None,
    opt("A built-in context set or a .csv file.", unset="the topic's own"),
]
#: The settings of every audit of a study that can be chosen.
SETTINGS = Annotated[AuditSettings, "max_contexts", "single_token", "device", "seed"]


@dataclass(frozen=True, kw_only=True)
class StudyOutput:
    """Where a study is stored, whether existing results are reused, and how they are shown."""

    out: Path | None = option(
        None, "--out", "-o", help="Folder of the study.", unset="studies/NAME"
    )
    only_plan: bool = option(
        False, "--plan", help="Print what the study would score and how long it takes, and exit."
    )
    fresh: bool = option(False, help="Start over instead of reusing scores in the folder.")
    no_page: bool = option(False, help="Do not write report.html.")
    json_output: bool = option(False, "--json", help="Print one JSON object instead of a table.")

    def folder(self, study: str) -> Path:
        return self.out or Path("studies") / study
