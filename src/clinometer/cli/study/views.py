"""clinometer study leaning, distribution, heatmap: from existing runs; no model is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from clinometer import ranges
from clinometer.cli.option import opt
from clinometer.cli.parameters import grouped
from clinometer.cli.study.frame import finish
from clinometer.cli.study.options import RUNS, StudyOutput

if TYPE_CHECKING:
    from clinometer.runs import Run

OUTPUT = Annotated[StudyOutput, "out", "no_page", "json_output"]


@grouped
def leaning_command(runs: RUNS, *, output: OUTPUT) -> None:
    """Which way each group leans in each model, and which lean alike in all (Figure 5)."""
    from clinometer.studies.within_run.views import leaning_findings

    finish(leaning_findings(_named(runs)), output.folder("leaning"), output)


@grouped
def distribution_command(runs: RUNS, *, output: OUTPUT) -> None:
    """Distribution of bias and volatility risk over the groups (Figures 10 and 16)."""
    from clinometer.studies.within_run.views import distribution_findings

    finish(distribution_findings(_named(runs)), output.folder("distribution"), output)


@grouped
def heatmap_command(
    runs: RUNS,
    group: Annotated[list[str] | None, opt("Only this group; may be repeated.")] = None,
    contexts: Annotated[int, opt("Number of contexts, heaviest first.", allowed=ranges.COUNT)] = 10,
    *,
    output: OUTPUT,
) -> None:
    """Heat map of preferences by group and context (Figure 11)."""
    from clinometer.studies.within_run.views import heatmap_findings

    found = heatmap_findings(_named(runs), groups=group or (), contexts=contexts)
    finish(found, output.folder("heatmap"), output)


def _named(paths: list[Path]) -> list[tuple[str, Run]]:
    """Runs by the name of their model; by model and folder if two share a name."""
    from clinometer.runs import Run

    runs = [Run.load(path) for path in paths]
    names = [run.model for run in runs]
    return [
        (run.model if names.count(run.model) == 1 else f"{run.model} ({path.name})", run)
        for path, run in zip(paths, runs, strict=True)
    ]
