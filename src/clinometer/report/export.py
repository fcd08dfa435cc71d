"""A report as files: the ending of a file's name says in which format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clinometer.display.text import one_line, plain_records
from clinometer.errors import RunError, SettingsError
from clinometer.report.figure import Figure
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import csv_text
from clinometer.tables import Cell, Table

FORMATS = ("html", "md", "tex", "json", "csv", "svg", "png")
"""Endings of --out: one page; its tables in one file (md, tex, json) or each in one (csv); a file
for each chart (svg, png)."""

_LONGEST = 2000
"""Rows of a table for people; csv and json have all tables."""

_TEX = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "·": r"$\cdot$",
    "ᵇ": r"$^{b}$",
    "ᵛ": r"$^{v}$",
    "[": "{[}",
    "]": "{]}",
}
_TEX_SIGN = re.compile("|".join(re.escape(sign) for sign in _TEX))
_MARKDOWN_SIGN = re.compile(r"([\\`*_{}\[\]<>#|~$])")

_MARKDOWN_MARKS = {"worst": "**{}**", "best": "*<u>{}</u>*"}
"""The best and the worst of a column, as the papers' tables mark them."""

_LATEX_MARKS = {"worst": r"\textbf{{{}}}", "best": r"\underline{{\textit{{{}}}}}"}
"""The same in LaTeX."""


def to_markdown(table: Table) -> str:
    """Return a pipe table under its title; Markdown and HTML characters are escaped."""
    columns = table.combined()
    lines = [f"### {markdown_text(table.title)}", ""]
    if table.note:
        lines += [markdown_text(table.note), ""]
    headings = " | ".join(markdown_text(column.heading) for column in columns)
    rules = "|".join("---" if column.is_text else "---:" for column in columns)
    lines += [f"| {headings} |", f"|{rules}|"]
    for row in table.rows():
        cells = [_cell_text(cell, markdown_text, _MARKDOWN_MARKS) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """Return a booktabs table (long ones break over pages with longtable)."""
    columns = table.combined()
    kinds = ""
    for column in columns:
        if column.name in ("template", "sentence", "text", "is"):
            kinds += r"p{0.38\linewidth}"
        else:
            kinds += "l" if column.is_text else "r"
    head = " & ".join(tex_text(column.heading) for column in columns)
    lines = [
        rf"\begin{{longtable}}{{{kinds}}}",
        rf"\caption{{{tex_text(table.title)}}}\\",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        r"\endhead",
    ]
    for row in table.rows():
        cells = [_cell_text(cell, tex_text, _LATEX_MARKS) for cell in row]
        lines.append(rf"{' & '.join(cells)} \\")
    lines += [r"\bottomrule", r"\end{longtable}", ""]
    return "\n".join(lines)


def _cell_text(
    cell: Cell, escape: Callable[[object], str], marks: Mapping[str, str]
) -> str:
    """Return 0.253 (0.192 to 0.346)."""
    text = marks.get(cell.mark, "{}").format(escape(cell.text))
    return f"{text} ({escape(cell.interval)})" if cell.interval else text


def markdown_text(text: object) -> str:
    """Return text that Markdown shows as it is.

    >>> markdown_text("a|b <script>")
    'a\\\\|b \\\\<script\\\\>'
    """
    return _MARKDOWN_SIGN.sub(r"\\\1", one_line(text))


def tex_text(text: object) -> str:
    """Return text that LaTeX shows as it is.

    >>> tex_text("50 % & R_b")
    '50 \\\\% \\\\& R\\\\_b'
    """
    return _TEX_SIGN.sub(lambda sign: _TEX[sign[0]], one_line(text))


def format_of(out: Path) -> str:
    """Return the format that the ending of a name asks for.

    >>> format_of(Path("tables/run.CSV"))
    'csv'
    """
    if out.is_dir():
        raise SettingsError(
            f"{out}: expected a file to write, found a folder; name a file in it"
        )
    form = out.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise SettingsError(
            f"{out}: expected a name that ends in .{', .'.join(FORMATS)}; found "
            f"{out.suffix or 'no ending'}"
        )
    return form


def write_as(
    out: Path,
    *,
    page: Callable[[], str],
    tables: Callable[[], Sequence[Table]],
    figures: Callable[[], Sequence[Figure]],
) -> list[Path]:
    """Write a report in the format that the ending of `out` names; return the files.

    Of csv, svg and png there are several, named after `out` and the table or chart: `x.csv` gives
    `x-groups.csv` and others. Only what the format needs is made.
    """
    contents: dict[Path, bytes]
    match format_of(out):
        case "html":
            contents = {out: page().encode()}
        case "svg":
            contents = {_named(out, f.key): f.svg().encode() for f in figures()}
        case "png":
            contents = {_named(out, f.key): f.png() for f in figures()}
        case "csv":
            contents = {_named(out, table.key): to_csv(table) for table in tables()}
        case "json":
            contents = {out: to_json(tables()).encode()}
        case "md":
            contents = {out: _in_one_file(tables(), to_markdown)}
        case _:
            contents = {out: _in_one_file(tables(), to_latex)}
    write_files(contents)
    return list(contents)


def _named(out: Path, key: str) -> Path:
    return out.with_name(f"{out.stem}-{key}{out.suffix}")


def _in_one_file(tables: Sequence[Table], text_of: Callable[[Table], str]) -> bytes:
    """Return the tables that are short enough for people, one after the other."""
    texts = [text_of(table) for table in tables if len(table.frame) <= _LONGEST]
    return "\n".join(texts).encode()


def to_csv(table: Table) -> bytes:
    """Return a table with full precision, as a spreadsheet may read it."""
    return csv_text(table.frame).encode("utf-8")


def to_json(tables: Sequence[Table]) -> str:
    """Return tables by key with full precision: title, note and rows."""
    content = {
        table.key: {
            "title": table.title,
            "note": table.note,
            "rows": plain_records(table.frame),
        }
        for table in tables
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write each file whole or not at all, and create its folder."""
    for file, content in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{file.parent}: cannot be written: {error.strerror}"
            ) from error
        with output_file(file, error=RunError) as beside:
            beside.write_bytes(content)
