"""clinometer report and view: runs as an offline page, as files, or in a browser."""

from __future__ import annotations

from pathlib import Path

from clinometer.cli.options import argument, port_option
from clinometer.cli.printing import say, sentence
from clinometer.display.numbers import counted
from clinometer.errors import SettingsError
from clinometer.settings import option


def report_command(
    runs: list[Path] = argument("RUN...", "Run folders."),
    out: Path | None = option(
        None,
        "--out",
        "-o",
        help="File to write; its ending says what: .html one page; .md, .tex, .json its tables in "
        "one file; .csv one file per table and .svg, .png one per chart, named after it (x.csv: "
        "x-groups.csv and others).",
        unset="report.html",
    ),
    interactive: bool = option(
        False,
        help="Put the viewer's page of the run, with every answer, into the HTML file.",
    ),
) -> None:
    """Write one HTML page about one or several runs, or its tables and charts as files.

    An unfinished or damaged run is marked as such and shown as far as possible.
    """
    from clinometer.reliability import ReliabilityRun
    from clinometer.report import open_runs, write_report
    from clinometer.report.export import format_of
    from clinometer.report.reliability import (
        is_reliability_run,
        write_reliability_report,
    )
    from clinometer.runs.folder.recover import require_some
    from clinometer.runs.several_runs import resampling_note
    from clinometer.studies.factors import factor_extras

    target = out or Path("report.html")
    form = format_of(target)  # refused before a run is read
    if any(is_reliability_run(path) for path in runs):
        if len(runs) > 1:
            raise SettingsError(
                f"{runs[1]}: expected one reliability run, whose benchmarks and models are "
                "compared in it, or audits only"
            )
        files = write_reliability_report(ReliabilityRun.load(runs[0]), target)
        _print_files(files, target, runs[0])
        return
    opened = open_runs(runs)
    require_some(opened)
    readable = [(run.name, run.run) for run in opened if run.run is not None]
    for line in (*(run.notice for run in opened), resampling_note(readable)):
        if line:
            say(line)
    extras = factor_extras(opened) if form in ("html", "svg", "png") else []
    files = write_report(opened, target, extras=extras, interactive=interactive)
    _print_files(files, target, runs[0])


def _print_files(files: list[Path], target: Path, run: Path) -> None:
    """Print where the result is, and what comes next."""
    written = str(target)
    if files != [target]:
        pattern = target.with_name(f"{target.stem}-*{target.suffix}")
        written = f"{counted(len(files), 'file')}, {pattern}"
    browser = "open it in a browser, or " if target.suffix.lower() == ".html" else ""
    sentence(f"Wrote {written}. Next: {browser}clinometer view {run.parent}")


def view_command(
    folder: Path = argument("DIR", "A folder that contains run folders.", Path("runs")),
    port: int = port_option(8765),
    host: str = option("127.0.0.1", help="Address to listen on."),
    browser: bool = option(
        True, "--browser/--no-browser", help="Open the page in a browser."
    ),
) -> None:
    """Explore runs in a browser, down to single words, even while they are being written.

    Reads only the run folders under DIR. The page is reachable only from this machine unless --host
    says otherwise; the printed address contains a token that grants access.
    """
    from clinometer.web import viewer
    from clinometer.web.app import new_token
    from clinometer.web.serve import open_browser, serve

    token = new_token()
    app = viewer(folder, host=host, token=token)

    def ready(address: str) -> None:
        link = f"{address}?token={token}"
        sentence(f"runs in {folder}: {link}  (Ctrl+C stops it)")
        if browser:
            open_browser(link)

    serve(app, host=host, port=port, ready=ready)
