"""Tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clinometer.display.table import Cell, Table
from clinometer.display.text import visible
from clinometer.errors import RunError
from clinometer.storage.atomic import output_file
from clinometer.storage.spreadsheet import no_formula

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
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


def to_markdown(table: Table) -> str:
    """A pipe table under its title; Markdown and HTML characters are escaped."""
    columns = table.combined()
    lines = [
        f"### {markdown_text(table.title)}",
        "",
        *([markdown_text(table.note), ""] if table.note else []),
        "| " + " | ".join(markdown_text(c.heading) for c in columns) + " |",
        "|" + "|".join("---" if c.is_text else "---:" for c in columns) + "|",
    ]
    lines += [
        "| " + " | ".join(_marked(c, markdown_text, _MARKDOWN) for c in row) + " |"
        for row in table.rows()
    ]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A booktabs table (long ones break over pages with longtable)."""
    columns = table.combined()
    kinds = "".join(
        r"p{0.38\linewidth}"
        if c.name in ("template", "sentence", "is")
        else "l"
        if c.is_text
        else "r"
        for c in columns
    )
    head = " & ".join(tex_text(c.heading) for c in columns) + r" \\"
    body = [" & ".join(_marked(c, tex_text, _LATEX) for c in row) + r" \\" for row in table.rows()]
    return "\n".join(
        [
            rf"\begin{{longtable}}{{{kinds}}}",
            rf"\caption{{{tex_text(table.title)}}}\\",
            r"\toprule",
            head,
            r"\midrule",
            r"\endhead",
            *body,
            r"\bottomrule",
            r"\end{longtable}",
            "",
        ]
    )


#: The best and the worst of a column, as the papers' tables mark them.
_MARKDOWN = {"worst": "**{}**", "best": "*<u>{}</u>*"}
_LATEX = {"worst": r"\textbf{{{}}}", "best": r"\underline{{\textit{{{}}}}}"}


def _marked(cell: Cell, escape: Callable[[object], str], marks: Mapping[str, str]) -> str:
    """0.253 (0.192 to 0.346)."""
    text = marks.get(cell.mark, "{}").format(escape(cell.text))
    return f"{text} ({escape(cell.interval)})" if cell.interval else text


def markdown_text(text: object) -> str:
    """Text that Markdown shows as it is.

    >>> markdown_text("a|b <script>")
    'a\\\\|b \\\\<script\\\\>'
    """
    return _MARKDOWN_SIGN.sub(r"\\\1", " ".join(visible(text).split()))


def tex_text(text: object) -> str:
    """Text that LaTeX shows as it is.

    >>> tex_text("50 % & R_b")
    '50 \\\\% \\\\& R\\\\_b'
    """
    line = " ".join(visible(text).split())
    return _TEX_SIGN.sub(lambda m: _TEX[m[0]], line)


def write_csv(tables: Sequence[Table], folder: Path) -> list[Path]:
    """One file per table, with full precision; returns the files."""
    files = {
        folder / f"{t.key}.csv": t.frame.map(no_formula).to_csv(index=False).encode("utf-8")
        for t in tables
    }
    write_files(files)
    return list(files)


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write each file whole or not at all, and create its folder."""
    for file, content in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{file.parent}: cannot be written: {error.strerror}") from error
        with output_file(file, error=RunError) as beside:
            beside.write_bytes(content)
