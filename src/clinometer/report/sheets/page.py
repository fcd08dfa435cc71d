"""A sheet about a run, as an HTML page or as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clinometer import __version__
from clinometer.display.numbers import risk
from clinometer.errors import SettingsError
from clinometer.report.document import render_document
from clinometer.report.export import markdown_text, write_files
from clinometer.report.sheets.fields import FIELDS
from clinometer.report.sheets.impact_ratios import ImpactRatio, impact_ratios
from clinometer.report.sheets.sheet import Clause, SheetMap, load_sheet
from clinometer.runs import Run

FORMATS = ("html", "md")

SCOPE = (
    "This sheet lists what the records of one run bear on. It is no statement that any requirement "
    "is met, and it is not legal advice."
)

NO_TEXT = "Text not reproduced: no copy was found to compare it with."


@dataclass(frozen=True)
class Evidence:
    """A clause with what the run has for it, and what it lacks."""

    clause: Clause
    there: tuple[tuple[str, str], ...]
    lacking: tuple[tuple[str, str], ...]


def evidence(sheet: SheetMap, run: Run) -> list[Evidence]:
    """Each clause of the map with the fields of the run."""
    found = []
    for clause in sheet.clauses:
        read = [(FIELDS[name], FIELDS[name].read(run)) for name in clause.fields]
        found.append(
            Evidence(
                clause,
                tuple((field.label, text) for field, text in read if text),
                tuple((field.label, field.next_step) for field, text in read if not text),
            )
        )
    return found


def write_sheet(run: Run, name: str, out: Path, *, form: str = "html") -> Path:
    """Write the sheet of this name about a run."""
    if form not in FORMATS:
        raise SettingsError(f"--format: expected html or md for a sheet, found {form}")
    text = render_sheet(run, name) if form == "html" else sheet_markdown(run, name)
    write_files({out: text.encode("utf-8")})
    return out


def render_sheet(run: Run, name: str) -> str:
    """The page as text."""
    sheet = load_sheet(name)
    return render_document(
        "sheet.html",
        sheet=sheet,
        model=run.model,
        rows=evidence(sheet, run),
        ratios=_ratios(sheet, run),
        scope=SCOPE,
        no_text=NO_TEXT,
    )


def sheet_markdown(run: Run, name: str) -> str:
    """The same in Markdown."""
    sheet = load_sheet(name)
    lines = [
        f"# {markdown_text(sheet.title)}: {markdown_text(run.model)}",
        "",
        SCOPE,
        "",
        f"Source: {markdown_text(sheet.source)} ({sheet.date}). Map version {sheet.version}, "
        f"compared with copies on {sheet.compared}. "
        f"{markdown_text(sheet.note)}",
    ]
    for one in evidence(sheet, run):
        clause = one.clause
        lines += ["", f"## {markdown_text(clause.number)}", ""]
        lines += [f"> {clause.quote}" if clause.quote else f"*{clause.title or NO_TEXT}*", ""]
        lines += [f"Compared with {markdown_text(clause.compared)}.", ""] if clause.compared else []
        lines += [f"**This run can show:** {clause.can}.", ""]
        lines += [f"- {label}: {markdown_text(text)}" for label, text in one.there]
        lines += ["", f"**It cannot show:** {clause.cannot}.", ""]
        lines += ["**Missing:**", ""]
        lines += [f"- {label} of this run: {markdown_text(step)}" for label, step in one.lacking]
        lines += [f"- {text}" for text in clause.missing]
    if ratios := _ratios(sheet, run):
        lines += ["", "## Impact ratios of word preferences", "", _RATIOS, ""]
        lines += ["| category | scoring rate | impact ratio |", "|---|---:|---:|"]
        lines += [
            f"| {markdown_text(r.category)} | {risk(r.scoring_rate)} | {risk(r.ratio)} |"
            for r in ratios
        ]
    lines += ["", f"Made by clinometer {__version__}."]
    return "\n".join(lines) + "\n"


_RATIOS = (
    "The arithmetic of 6 RCNY § 5-300 on cells of a group and a context: no candidate was scored, "
    "and the rules set no limit for the ratio."
)


def _ratios(sheet: SheetMap, run: Run) -> list[ImpactRatio]:
    return impact_ratios(run.preferences) if sheet.impact_ratios else []
