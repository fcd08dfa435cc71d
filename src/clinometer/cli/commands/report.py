"""clinometer report: a page that works offline, or its tables and charts as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clinometer.cli.printing import console
from clinometer.errors import ClinometerError, SettingsError

if TYPE_CHECKING:
    from clinometer.report import Extra
    from clinometer.runs.folder.recover import Opened

#: format -> what --out is when it is not given
FORMATS = {
    "html": "report.html",
    "md": "report.md",
    "tex": "report.tex",
    "csv": "report-csv",
    "svg": "report-svg",
    "png": "report-png",
}


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write; a folder with csv, svg and png.",
            show_default="report.FORMAT, or report-FORMAT for a folder",
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="html: one page; md, tex: its tables in one file; csv: one file per table; svg, "
            "png: one file per chart.",
        ),
    ] = "html",
) -> None:
    """Write one HTML page about one or several runs, or its tables and charts as files.

    An unfinished, damaged or older run is marked as such and shown as far as possible.
    """
    from clinometer.report import open_runs, write_report
    from clinometer.runs.align import resampling_note
    from clinometer.runs.folder.recover import require_some

    if form not in FORMATS:
        raise SettingsError(f"--format: expected {', '.join(FORMATS)}; found {form!r}")
    target = out or Path(FORMATS[form])
    opened = open_runs(runs)
    require_some(opened)
    for one in opened:
        if one.notice:
            sys.stderr.write(f"clinometer: {' '.join(one.notice.split())}\n")
    note = resampling_note([(one.name, one.run) for one in opened if one.run is not None])
    if note:
        sys.stderr.write(f"clinometer: {note}\n")
    if form == "html":
        write_report(opened, target, extras=factor_extras(opened))
        written = str(target)
    else:
        written = _write(form, opened, target)
    console().print(f"wrote {written}", markup=False, soft_wrap=True)


def _write(form: str, opened: list[Opened], target: Path) -> str:
    from clinometer.report.export import to_latex, to_markdown, write_csv, write_files
    from clinometer.report.page import report_figures, report_tables

    if form == "csv":
        return f"{len(write_csv(report_tables(opened), target))} tables in {target}"
    if form in ("md", "tex"):
        tables = [t for t in report_tables(opened) if len(t.frame) <= 2000]
        text = "\n".join((to_markdown if form == "md" else to_latex)(t) for t in tables)
        write_files({target: text.encode()})
        return str(target)
    figures = report_figures(opened)
    files = {
        target / f"{f.key}.{form}": f.svg().encode() if form == "svg" else f.png() for f in figures
    }
    write_files(files)
    return f"{len(files)} charts in {target}"


def factor_extras(opened: list[Opened]) -> list[Extra]:
    """Risk against the built-in social factors, for each run whose groups have figures."""
    from clinometer.report import Extra
    from clinometer.report.figures.comparison import basis
    from clinometer.report.figures.factors import factor_figure
    from clinometer.studies.within_run.factors import (
        WEIGHT,
        builtin_factors,
        factor_study,
        standard_errors,
    )

    table = builtin_factors()
    found = []
    for one in opened:
        if one.run is None or one.state != "finished":
            continue
        try:
            study = factor_study(one.run)
        except ClinometerError:
            continue  # no group of this run has a figure, or too few of them
        known = table.reindex(list(one.run.risks.groups))
        figures = [
            factor_figure(
                one.run.risks.r,
                known[name].to_numpy(dtype=float),
                factor=name,
                groups=one.run.risks.groups,
                weights=known[WEIGHT].to_numpy(dtype=float),
                y_se=standard_errors(one.run, "r"),
                basis=basis(one.run),
            )
            for name in study.each
        ]
        text = (
            "Weighted by employment; figures of the US Bureau of Labor Statistics, without the "
            f"{len(study.without_figures)} groups that have none.",
        )
        title = "Risk and social factors" + (f": {one.name}" if len(opened) > 1 else "")
        found.append(Extra(title, text, tuple(figures)))
    return found
