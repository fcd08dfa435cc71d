"""Options of the study commands, and the settings they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON, SEED

MODELS = Annotated[list[str], typer.Argument(metavar="MODEL...", help="Models, as for audit.")]
RUNS = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
TOPIC = Annotated[str, typer.Option(help="A built-in topic, or a topic file.")]
CONTEXTS = Annotated[
    str | None,
    typer.Option(help="A built-in context set, or a csv file.  [default: the topic's own]"),
]
MAX = Annotated[
    int | None, number_option(ranges.COUNT, "Sample so many contexts by weight.", "--max-contexts")
]
OUT = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder of the study.  [default: studies/NAME]")
]
PLAN = Annotated[bool, typer.Option("--plan", help="Say what it would ask and cost; ask nothing.")]
SINGLE = Annotated[
    bool, typer.Option("--single-token", help="Leave out words of several tokens, as the paper.")
]
NO_PAGE = Annotated[bool, typer.Option("--no-page", help="Do not write report.html.")]


@dataclass(frozen=True, kw_only=True)
class StudyFolder:
    """Place a study lies, and what becomes of what is there."""

    out: OUT = None
    only_plan: PLAN = False
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask again what the folder already holds.")
    ] = False

    def folder(self, study: str) -> Path:
        return self.out or Path("studies") / study


@dataclass(frozen=True, kw_only=True)
class How:
    """How models are asked, and how the findings are shown."""

    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.")] = "auto"
    seed: SEED = 0
    no_page: NO_PAGE = False
    json_output: JSON = False


def settings_of(how: How, max_contexts: int | None = None, *, single_token: bool = False) -> Any:
    """The settings of every audit of a study."""
    from clinometer.models import LoadOptions, WordOptions
    from clinometer.runs import AuditSettings

    return AuditSettings(
        max_contexts=max_contexts,
        seed=how.seed,
        load=LoadOptions(device=how.device),
        words=WordOptions(single_token=single_token),
    )
