"""clinometer report and view: runs as an offline page, as files, or in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer.cli.help import PORT, opt
from clinometer.cli.printing import console, say
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from clinometer.display.table import Table
    from clinometer.report import Extra, Figure
    from clinometer.report.cards import Card
    from clinometer.runs.folder.recover import LoadedRun


#: format -> default of --out
FORMATS = {
    "html": "report.html",
    "md": "report.md",
    "tex": "report.tex",
    "csv": "report-csv",
    "svg": "report-svg",
    "png": "report-png",
    "cards": "report-cards",
    "slide": "slide.png",
}


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    out: Annotated[
        Path | None,
        opt(
            "File to write; a folder with csv, svg, png and cards.",
            "--out",
            "-o",
            unset="report.FORMAT, or report-FORMAT for a folder",
        ),
    ] = None,
    form: Annotated[
        str,
        opt(
            "html: one page; md, tex: its tables in one file; csv: one file per table; svg, "
            "png: one file per chart; cards: a picture of each finding to share (1200 × 630); "
            "slide: one of all (1920 × 1080).",
            "--format",
        ),
    ] = "html",
    sheet: Annotated[
        str | None,
        opt(
            "Write an evidence sheet about one run instead: nist-ai-rmf, eu-ai-act, iso-42001 or "
            "nyc-ll144 (html or md).",
        ),
    ] = None,
    interactive: Annotated[
        bool,
        opt(
            "Put the viewer's page of the run, with every answer, into the HTML file.",
            "--interactive",
        ),
    ] = False,
    leaderboard: Annotated[
        bool,
        opt(
            "Write static pages that rank models instead, one table per topic and context set; "
            "RUN may be a folder with runs below it.",
            "--leaderboard",
        ),
    ] = False,
    title: Annotated[str, opt("Title of --leaderboard.", unset="made from the runs")] = "",
) -> None:
    """Write one HTML page about one or several runs, or its tables and charts as files.

    An unfinished or damaged run is marked as such and shown as far as possible; --leaderboard
    names it and leaves it out.
    """
    from clinometer.report import open_runs, write_report
    from clinometer.report.cards import finding_cards
    from clinometer.report.export import write_files
    from clinometer.report.page import report_figures, report_tables, run_summaries
    from clinometer.report.reliability import is_reliability_run
    from clinometer.runs.align import resampling_note
    from clinometer.runs.folder.recover import require_some

    if form not in FORMATS:
        raise SettingsError(f"--format: expected {', '.join(FORMATS)}; found {form!r}")
    if interactive and form != "html":
        raise SettingsError(f"--interactive: expected --format html, found {form}")
    if leaderboard:
        _write_leaderboard(runs, out or Path("leaderboard"), title)
        return
    if sheet is not None:
        _write_sheet(runs, sheet, out, form)
        return
    target = out or Path(FORMATS[form])
    if any(is_reliability_run(path) for path in runs):
        _write_reliability(runs, target, form)
        return
    opened = open_runs(runs)
    require_some(opened)
    loaded = [(one.name, one.run) for one in opened if one.run is not None]
    for line in (*(one.notice for one in opened), resampling_note(loaded)):
        if line:
            say(line)
    written = str(target)
    if form in ("cards", "slide"):
        summaries = list(run_summaries(opened).values())
        if not summaries:
            raise SettingsError(f"--format {form}: expected a run that can be measured, found none")
        written = _write_pictures(finding_cards(summaries), target, form)
    elif form == "html":
        write_report(opened, target, extras=factor_extras(opened), interactive=interactive)
    elif form in ("svg", "png"):
        extras = factor_extras(opened, risks=True)
        figures = report_figures(opened, extras)
        files = {target / f"{f.key}.{form}": _drawing(f, form) for f in figures}
        write_files(files)
        written = f"{len(files)} charts in {target}"
    else:
        written = _write_tables(form, report_tables(opened), target)
    _say(written, runs[0])


def _write_pictures(cards: Sequence[Card], target: Path, form: str) -> str:
    from clinometer.report.cards import slide
    from clinometer.report.export import write_files

    if form == "slide":
        write_files({target: slide(cards)})
        return str(target)
    write_files({target / f"{card.key}.png": card.png() for card in cards})
    return f"{len(cards)} pictures in {target}"


def _drawing(figure: Figure, form: str) -> bytes:
    return figure.svg().encode() if form == "svg" else figure.png()


def _write_sheet(runs: list[Path], sheet: str, out: Path | None, form: str) -> None:
    from clinometer.report.sheets import load_sheet, write_sheet
    from clinometer.runs import Run

    load_sheet(sheet)  # an unknown name is refused before the run is read
    if len(runs) != 1:
        raise SettingsError(f"--sheet: expected one run, found {len(runs)}; write a sheet of each")
    target = out or Path(f"{sheet}.{form}")
    _say(str(write_sheet(Run.load(runs[0]), sheet, target, form=form)), runs[0])


def _write_leaderboard(runs: list[Path], folder: Path, title: str) -> None:
    from clinometer.report.leaderboard import collect, write_leaderboard

    boards, unread = collect(runs)
    for line in unread:
        say(line)
    notices = [f"{len(unread)} runs could not be read and are left out."] if unread else []
    files = write_leaderboard(boards, folder, title=title, notices=notices)
    console().print(
        f"Wrote {len(files)} files. Next: open {folder / 'index.html'} in a browser, or put the "
        "folder on any web server",
        soft_wrap=True,
    )


def _write_reliability(runs: list[Path], target: Path, form: str) -> None:
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.benchmark_table import NOT_COMPARABLE, scored_alike
    from clinometer.report.cards import reliability_cards
    from clinometer.report.export import write_files
    from clinometer.report.reliability import (
        is_reliability_run,
        reliability_story,
        reliability_tables,
        write_reliability_report,
    )

    others = [path for path in runs if not is_reliability_run(path)]
    if others:
        raise SettingsError(
            f"{others[0]}: expected reliability runs only, found an audit; write two reports"
        )
    loaded = [ReliabilityRun.load(path) for path in runs]
    if not scored_alike(loaded):
        say(NOT_COMPARABLE)
    written = str(target)
    story = reliability_story(loaded) if form in ("svg", "png", "cards", "slide") else None
    if form == "html":
        write_reliability_report(loaded, target)
    elif story is not None and form in ("cards", "slide"):
        written = _write_pictures(reliability_cards(story), target, form)
    elif story is not None:
        figures = [] if story.picture is None else [story.picture]
        write_files({target / f"{f.key}.{form}": _drawing(f, form) for f in figures})
        written = f"{len(figures)} charts in {target}"
    else:
        written = _write_tables(form, reliability_tables(loaded), target)
    _say(written, runs[0])


def _say(written: str, run: Path) -> None:
    """Where the result is, and what comes next."""
    text = f"Wrote {written}. Next: open it in a browser, or clinometer view {run.parent}"
    console().print(text, markup=False, soft_wrap=True)


def _write_tables(form: str, tables: Sequence[Table], target: Path) -> str:
    from clinometer.report.export import to_latex, to_markdown, write_csv, write_files

    if form == "csv":
        return f"{len(write_csv(tables, target))} tables in {target}"
    write = to_markdown if form == "md" else to_latex
    text = "\n".join(write(table) for table in tables if len(table.frame) <= 2000)
    write_files({target: text.encode()})
    return str(target)


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
                run, lean, errors, measure=f"lean to {report.categories[1]}"
            )
        if risks or not signed:
            more, notes = factor_figures(run, report.r, standard_errors(run, "r"), measure="r")
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
        console().print(f"runs in {folder}: {shown}  (Ctrl+C stops it)", soft_wrap=True)
        if browser:
            open_browser(shown)

    serve(app, host=host, port=port, ready=ready)
