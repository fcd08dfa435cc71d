"""clinometer leaderboard: many runs as static pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.option import opt
from clinometer.cli.parameters import SEED
from clinometer.cli.printing import console, say
from clinometer.runs import AuditSettings


def leaderboard_command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS...", help="Run folders, or folders with runs below them."),
    ],
    out: Annotated[Path, opt("Folder to write.", "--out", "-o")] = Path("leaderboard"),
    title: Annotated[str, opt("Title of the page.", unset="made from the runs")] = "",
    replicates: Annotated[
        int,
        opt("Bootstrap replicates behind the ranks.", allowed=ranges.SOME_REPLICATES),
    ] = 400,
    seed: SEED = AuditSettings.seed,
) -> None:
    """Rank models by their runs on static pages: one table per topic and context set.

    Runs of the same topic and contexts are ranked together, with the probability of each rank
    from a paired bootstrap over contexts. Unfinished and damaged runs are named and left out.
    """
    from clinometer.report.leaderboard.board import collect
    from clinometer.report.leaderboard.pages import write_leaderboard

    boards, passed = collect(runs, replicates=replicates, seed=seed)
    for line in passed:
        say(line)
    notices = [f"{len(passed)} runs could not be read and are left out."] if passed else []
    written = write_leaderboard(boards, out, title=title, notices=notices)
    console().print(
        f"Wrote {len(written)} files. Next: open {out / 'index.html'} in a browser, or put the "
        "folder on any web server",
        soft_wrap=True,
    )
