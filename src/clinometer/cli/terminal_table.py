"""A table on a terminal, which loses nothing however narrow the screen is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from clinometer.display.text import visible

_FRAME = 1
"""What box.SIMPLE_HEAD adds to a table: an edge."""

_BETWEEN = 3
"""What it adds for each column: a space on both sides and a divider."""


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
        """Return each heading, and whether its column is numeric."""
        return [
            (visible(heading), heading not in self.words) for heading in self.headings
        ]

    @cached_property
    def cells(self) -> list[list[str]]:
        """Return the rows as they are shown."""
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
        """Return the width of each column; None without room.

        Numbers are shown in full, words at least unbroken. Narrow columns get their full width;
        wide ones share the rest.
        """
        full = []
        least = []
        for column, (heading, is_numeric) in enumerate(self.columns):
            cells = [heading, *(row[column] for row in self.cells)]
            lines = [line for cell in cells for line in cell.split("\n")]
            longest_line = max(map(cell_len, lines))
            words = [cell_len(word) for line in lines for word in line.split()]
            full.append(longest_line)
            least.append(longest_line if is_numeric else max(words, default=0))
        spare = space - _FRAME - sum(least) - _BETWEEN * len(least)
        if spare < 0:
            return None
        widths = list(least)
        by_need = sorted(range(len(full)), key=lambda i: full[i] - least[i])
        for position, i in enumerate(by_need):
            columns_to_come = len(by_need) - position
            more = min(full[i] - least[i], spare // columns_to_come)
            widths[i] += more
            spare -= more
        return widths

    def _rich(self, widths: list[int]) -> RichTable:
        title = Text(visible(self.title)) if self.title else None
        table = RichTable(
            title=title, title_justify="left", box=box.SIMPLE_HEAD, header_style="bold"
        )
        for (heading, is_numeric), width in zip(self.columns, widths, strict=True):
            side: Literal["left", "right"] = "right" if is_numeric else "left"
            table.add_column(Text(heading), justify=side, width=width, overflow="fold")
        for i, row in enumerate(self.cells):
            texts = [Text(cell) for cell in row]
            for column, text in enumerate(texts):
                style = self.styles.get((i, column), "")
                text.stylize(style, 0, len(text.plain.split("\n")[0]))
            table.add_row(*texts, style="dim" if i in self.dim else None)
        return table

    def _stacked(self) -> list[Text]:
        """Return each row as a block: its first cell, then `heading  value` for the others."""
        headings = [" ".join(heading.split("\n")) for heading, _ in self.columns]
        width = max((cell_len(heading) for heading in headings[1:]), default=0)
        lines = []
        if self.title:
            lines += [Text(visible(self.title)), Text()]
        for i, row in enumerate(self.cells):
            style = "dim" if i in self.dim else ""
            cells = [" ".join(cell.split("\n")) for cell in row]
            label = f"{headings[0]}: " if headings[0] else ""
            lines.append(Text(label + cells[0], style=style or "bold"))
            for heading, cell in zip(headings[1:], cells[1:], strict=True):
                gap = " " * (width - cell_len(heading))
                lines.append(Text(f"  {heading}{gap}  {cell}".rstrip(), style=style))
        return [*lines, Text()]
