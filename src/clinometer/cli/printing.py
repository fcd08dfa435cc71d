"""How results are printed: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from clinometer.display.numbers import between, risk
from clinometer.display.text import CONTROLS, one_line, visible
from clinometer.measure.risks import CONTEXT_RISKS, MEASURES, RISKS

if TYPE_CHECKING:
    from clinometer.measure import Estimate, RiskReport
    from clinometer.tables import Table


#: What box.SIMPLE_HEAD adds: an edge, and for each column a space on both sides and a divider.
_FRAME, _BETWEEN = 1, 3


@dataclass(frozen=True)
class TerminalTable:
    """A title, headings and rows. Columns of `words` are text, aligned left and wrapped if
    necessary; the others are numbers, aligned right and never wrapped. `dim` names rows by their
    place, `styles` those of the first line of a cell, by row and column.

    A cell may have several lines. Cells hold other people's text, so none of it is
    read as markup or by the terminal.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[object]]
    words: Collection[str]
    dim: Collection[int] = ()
    styles: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> list[tuple[str, bool]]:
        """Each heading, and whether its column is numeric."""
        return [
            (visible(heading), heading not in self.words) for heading in self.headings
        ]

    @cached_property
    def cells(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [[visible(cell) for cell in row] for row in self.rows]

    def print(self, console: Console) -> None:
        """Print as a table, or row by row if the console is too narrow."""
        widths = self._widths(console.width)
        if widths is not None:
            console.print(self._rich(widths))
            return
        for line in self._stacked():
            console.print(line, soft_wrap=not console.is_terminal)

    def _widths(self, space: int) -> list[int] | None:
        """Width of each column: numbers in full, words at least unbroken; None without room."""
        most, least = [], []
        for place, (heading, numbers) in enumerate(self.columns):
            cells = [heading, *(row[place] for row in self.cells)]
            lines = [line for cell in cells for line in cell.split("\n")]
            most.append(max(map(cell_len, lines)))
            words = [cell_len(word) for line in lines for word in line.split()]
            least.append(most[-1] if numbers else max(words, default=0))
        spare = space - _FRAME - sum(least) - _BETWEEN * len(least)
        if spare < 0:
            return None
        # Narrow columns get their full width; wide ones share the rest.
        widths = list(least)
        order = sorted(range(len(most)), key=lambda i: most[i] - least[i])
        for left, i in zip(range(len(order), 0, -1), order, strict=True):
            given = min(most[i] - least[i], spare // left)
            widths[i] += given
            spare -= given
        return widths

    def _rich(self, widths: list[int]) -> RichTable:
        title = Text(visible(self.title)) if self.title else None
        table = RichTable(
            title=title, title_justify="left", box=box.SIMPLE_HEAD, header_style="bold"
        )
        for (heading, numbers), width in zip(self.columns, widths, strict=True):
            side: Literal["left", "right"] = "right" if numbers else "left"
            table.add_column(Text(heading), justify=side, width=width, overflow="fold")
        for place, row in enumerate(self.cells):
            texts = [Text(cell) for cell in row]
            for column, text in enumerate(texts):
                style = self.styles.get((place, column), "")
                text.stylize(style, 0, len(text.plain.split("\n")[0]))
            table.add_row(*texts, style="dim" if place in self.dim else None)
        return table

    def _stacked(self) -> list[Text]:
        """Each row as a block: its first cell, then `heading  value` for the others."""
        headings = [" ".join(heading.split("\n")) for heading, _ in self.columns]
        width = max((cell_len(h) for h in headings[1:]), default=0)
        lines = [Text(visible(self.title)), Text()] if self.title else []
        for place, row in enumerate(self.cells):
            style = "dim" if place in self.dim else ""
            first, *others = (" ".join(cell.split("\n")) for cell in row)
            label = f"{headings[0]}: " if headings[0] else ""
            lines.append(Text(label + first, style=style or "bold"))
            for heading, cell in zip(headings[1:], others, strict=True):
                gap = " " * (width - cell_len(heading))
                lines.append(Text(f"  {heading}{gap}  {cell}".rstrip(), style=style))
        return [*lines, Text()]


#: The best and the worst of a column, as the papers' tables mark them.
_MARKS = {"worst": "bold", "best": "underline italic"}


def print_rows(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    words: Collection[str] | None = None,
    dim: Collection[int] = (),
) -> None:
    """A table of plain values: see `TerminalTable`. Without `words` the first column is text."""
    shown = headings[:1] if words is None else words
    TerminalTable(title, headings, [*rows], shown, dim).print(console())


def print_table(table: Table, *, most: int | None = None) -> None:
    """The first `most` rows of a table of results, as a report has it, and its note."""
    columns, rows = table.combined(), [*table.rows(most)]
    TerminalTable(
        table.title,
        [column.heading for column in columns],
        [
            [c.text + (f"\n{c.interval}" if c.interval else "") for c in row]
            for row in rows
        ],
        {column.heading for column in columns if column.is_text},
        styles={
            (place, i): _MARKS[cell.mark]
            for place, row in enumerate(rows)
            for i, cell in enumerate(row)
            if cell.mark
        },
    ).print(console())
    if table.note:
        sentence(table.note)


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """rich would exit with status 1, which here means that a threshold failed."""
        raise BrokenPipeError


def between_words(text: str, width: int) -> str:
    """A text in lines of at most `width`; a longer word, such as an address, stays whole.

    >>> between_words("  34%  On what occasion?", 16)
    '  34%  On what\\noccasion?'
    """
    lines = [
        textwrap.wrap(
            line,
            max(width, 20),
            break_long_words=False,
            break_on_hyphens=False,
            tabsize=4,
        )
        for line in text.split("\n")
    ]
    return "\n".join("\n".join(each) for each in lines)


def console() -> Console:
    """Where results go; colours only on a terminal. Names of models, groups and files are other
    people's text: none of it is markup."""
    return _Output(highlight=False, markup=False, emoji=False)


def sentence(text: str, *, indent: str = "", style: str | None = None) -> None:
    """A sentence of the results: wrapped between words on a terminal, one line elsewhere."""
    out, text = console(), visible(text)
    if out.is_terminal:
        text = between_words(text, out.width - len(indent))
    out.print(textwrap.indent(text, indent), style=style, soft_wrap=True)


def say(text: object, *, prefix: str = "clinometer: ") -> None:
    """One line on stderr; on a terminal its words stay whole."""
    line = f"{prefix}{one_line(text)}"
    if sys.stderr.isatty():
        line = between_words(line, shutil.get_terminal_size().columns)
    sys.stderr.write(f"{line}\n")


def print_json(result: dict[str, Any]) -> None:
    """One object on stdout; what a terminal would obey is written as JSON's escapes."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    print(CONTROLS.sub(lambda m: json.dumps(m[0])[1:-1], text))  # noqa: T201


def number(estimate: Estimate) -> str:
    """0.482, with its interval on the next line, 0.455–0.507."""
    return f"{risk(estimate.value)}\n{between(estimate.low, estimate.high)}".rstrip()


def print_risks(
    named: Sequence[tuple[str, RiskReport]],
    *,
    title: str,
    bounds: Mapping[str, Any] | None = None,
    floors: Mapping[str, Any] | None = None,
) -> None:
    """The models: R, its two components, and the number of contexts.

    Under a model: how much of R its groups share and how much differs between them; by label, the
    `floors` from shuffled words and the `bounds` of models whose rare words are only bounded.
    """
    rows: list[tuple[str, ...]] = []
    dim: list[int] = []
    for label, report in named:
        parts = [number(getattr(report, name)) for name in MEASURES]
        rows.append((label, *parts, str(report.n_contexts), f"{report.n_eff:.1f}"))
        for mean in CONTEXT_RISKS:
            if (estimate := report.summary.get(mean.name)) is not None:
                rows.append((f"  {mean.label}", number(estimate), "", "", "", ""))
        if floors and (floor := floors.get(label)) is not None:
            dim.append(len(rows))
            by_chance = [number(getattr(floor, name)) for name in MEASURES]
            rows.append(("  shuffled words", *by_chance, "", ""))
        if bounds and label in bounds:
            ends = [between(*getattr(bounds[label], name)) for name in MEASURES]
            rows.append(("  between", *ends, "", ""))
    narrow_headings = [RISKS[name].narrow_heading for name in MEASURES]
    print_rows(title, ["model", *narrow_headings, "n", "n_eff"], rows, dim=dim)
