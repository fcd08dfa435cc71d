"""clinometer study leaning, distribution, heatmap: from runs that exist; no model is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON
from clinometer.cli.study.frame import finish
from clinometer.cli.study.options import NO_PAGE, OUT, RUNS


def leaning_command(
    runs: RUNS, out: OUT = None, no_page: NO_PAGE = False, json_output: JSON = False
) -> None:
    """Which way every group leans in every model, and which lean alike in all (Figure 5)."""
    from clinometer.studies.within_run.views import leaning_findings

    _finish("leaning", leaning_findings(_named(runs)), out, no_page, json_output)


def distribution_command(
    runs: RUNS, out: OUT = None, no_page: NO_PAGE = False, json_output: JSON = False
) -> None:
    """How bias and volatility risk are spread over the groups (Figures 10 and 16)."""
    from clinometer.studies.within_run.views import distribution_findings

    _finish("distribution", distribution_findings(_named(runs)), out, no_page, json_output)


def heatmap_command(
    runs: RUNS,
    group: Annotated[
        list[str] | None, typer.Option(help="Only this group; may be repeated.")
    ] = None,
    contexts: Annotated[int, number_option(ranges.COUNT, "So many contexts, the heaviest.")] = 10,
    out: OUT = None,
    no_page: NO_PAGE = False,
    json_output: JSON = False,
) -> None:
    """The answers of groups in single contexts as a heat map (Figure 11)."""
    from clinometer.studies.within_run.views import heatmap_findings

    found = heatmap_findings(_named(runs), groups=group or (), contexts=contexts)
    _finish("heatmap", found, out, no_page, json_output)


def _named(paths: list[Path]) -> list[tuple[str, Any]]:
    """Runs by the name of their model; by model and folder where two have the same."""
    from clinometer.runs import Run

    runs = [Run.load(path) for path in paths]
    names = [run.model for run in runs]
    return [
        (run.model if names.count(run.model) == 1 else f"{run.model} ({path.name})", run)
        for path, run in zip(paths, runs, strict=True)
    ]


def _finish(name: str, found: Any, out: Path | None, no_page: bool, json_output: bool) -> None:
    finish(found, out or Path("studies") / name, no_page=no_page, json_output=json_output)
