"""clinometer report and view: runs as an offline page, as files, or in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer.cli.help import PORT, opt
from clinometer.cli.printing import say, sentence
from clinometer.display.numbers import counted
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.report import Extra, Figure
    from clinometer.runs.folder.recover import LoadedRun


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    out: Annotated[
        Path | None,
        opt(
            "File to write; its ending says what: .html one page; .md, .tex, .json its tables in "
            "one file; .csv one file per table and .svg, .png one per chart, named after it "
            "(x.csv: x-groups.csv and others).",
            "--out",
            "-o",
            unset="report.html",
        ),
    ] = None,
    interactive: Annotated[
        bool,
        opt(
            "Put the viewer's page of the run, with every answer, into the HTML file.",
            "--interactive",
        ),
    ] = False,
) -> None:
    """Write one HTML page about one or several runs, or its tables and charts as files.

    An unfinished or damaged run is marked as such and shown as far as possible.
    """
    from clinometer.report import open_runs, write_report
    from clinometer.report.export import format_of
    from clinometer.report.reliability import is_reliability_run
    from clinometer.runs.compare import resampling_note
    from clinometer.runs.folder.recover import require_some

    target = out or Path("report.html")
    form = format_of(target)  # refused before a run is read
    if any(is_reliability_run(path) for path in runs):
        _write_reliability(runs, target)
        return
    opened = open_runs(runs)
    require_some(opened)
    loaded = [(one.name, one.run) for one in opened if one.run is not None]
    for line in (*(one.notice for one in opened), resampling_note(loaded)):
        if line:
            say(line)
    extras: list[Extra] = []
    if form in ("html", "svg", "png"):
        extras = factor_extras(opened, risks=form != "html")
    _say(write_report(opened, target, extras=extras, interactive=interactive), target, runs[0])


def _write_reliability(runs: list[Path], target: Path) -> None:
    from clinometer.reliability import ReliabilityRun
    from clinometer.report.reliability import write_reliability_report

    if len(runs) > 1:
        raise SettingsError(
            f"{runs[1]}: expected one reliability run, whose benchmarks and models are compared in "
            "it, or audits only"
        )
    _say(write_reliability_report(ReliabilityRun.load(runs[0]), target), target, runs[0])


def _say(files: list[Path], target: Path, run: Path) -> None:
    """Where the result is, and what comes next."""
    written = str(target)
    if files != [target]:
        every = target.with_name(f"{target.stem}-*{target.suffix}")
        written = f"{counted(len(files), 'file')}, {every}"
    browser = "open it in a browser, or " if target.suffix.lower() == ".html" else ""
    text = f"Wrote {written}. Next: {browser}clinometer view {run.parent}"
    sentence(text)


#: A line through points is drawn up to this p; above it, its slope is a line of text.
SHOWN = 0.05


def factor_extras(opened: list[LoadedRun], *, risks: bool = False) -> list[Extra]:
    """The lean of the groups against the built-in social factors, for runs whose groups have them.

    With two categories the lean has a sign, and the sign is the finding: unsigned risk runs flat
    through a lean that follows a factor from one side to the other. `risks` adds it, as the paper
    has it.
    """
    from clinometer.report import Extra
    from clinometer.report.cell_statistics import CellStatistics, lean_errors
    from clinometer.studies.factors import (
        builtin_factors,
        factor_figures,
        sources_in_words,
        standard_errors,
    )

    table = builtin_factors()
    shown = SHOWN if len(opened) == 1 else 0.0  # of several models the slopes only
    extras = []
    for one in opened:
        if one.run is None or one.state != "finished":
            continue
        run, report = one.run, one.run.risks
        signed = len(report.categories) == 2
        known = table.reindex(list(report.groups))
        if known.isna().all(axis=None):
            continue
        figures: list[Figure] = []
        notes: list[str] = []
        if signed:
            lean, errors = report.mean_stereotype[:, 1], lean_errors(CellStatistics(run), 1)
            figures, notes = factor_figures(
                run, lean, errors, measure=f"lean to {report.categories[1]}", largest_p=shown
            )
        if risks or not signed:
            errors = standard_errors(run, "r")
            more, notes = factor_figures(run, report.r, errors, measure="r", largest_p=shown)
            figures += more
        without = int(known.isna().any(axis=1).sum())
        text = (
            f"Weighted by employment. {without} of {len(report.groups)} groups lack at least one "
            f"figure and are left out where it is needed. {sources_in_words()}"
        )
        title = "Lean and social factors" if signed else "Risk and social factors"
        title += f": {one.name}" if len(opened) > 1 else ""
        extras.append(Extra(title, (text, *notes), tuple(figures)))
    return extras


def view_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that contains run folders.")
    ] = Path("runs"),
    port: PORT = 8765,
    host: Annotated[str, opt("Address to listen on.")] = "127.0.0.1",
    browser: Annotated[bool, opt("Open the page in a browser.", "--browser/--no-browser")] = True,
) -> None:
    """Explore runs in a browser, down to single words, even while they are being written.

    Reads only the run folders under DIR. The page is reachable only from this machine unless --host
    says otherwise; the printed address contains a token that grants access.
    """
    from clinometer.web import viewer
    from clinometer.web.app import new_token, open_browser, serve

    token = new_token()
    app = viewer(folder, host=host, token=token)

    def ready(address: str) -> None:
        shown = f"{address}?token={token}"
        sentence(f"runs in {folder}: {shown}  (Ctrl+C stops it)")
        if browser:
            open_browser(shown)

    serve(app, host=host, port=port, ready=ready)
