"""A table of replies, read row by row: what is kept in memory are counts of replies per cell."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from clinometer.bridges.mapping import SampleMapping, SamplePlace
from clinometer.bridges.reply_files import Row
from clinometer.bridges.sample_cells import SampleCells
from clinometer.display.text import brief
from clinometer.errors import TableError
from clinometer.runs.placebo import UNEDITED

MOST_SCORES = 201
"""Different scores that a scale may have."""

LARGEST_SCORE = 1e12
"""Beyond it the square of a score has no room for the digits of others."""


@dataclass(frozen=True)
class ReplyPlace:
    """Where a row of replies belongs."""

    model: str
    axis: str
    cell: SamplePlace

    edit: str
    """The name of an irrelevant edit, else empty."""

    baseline: bool
    """Whether the row is of the text that was edited."""


@dataclass
class ReplyTable:
    """Counts of replies by place, read row by row."""

    mapping: SampleMapping

    counts: dict[ReplyPlace, Counter[str | None]] = field(default_factory=dict)
    """Place -> reply (a score's text, or a category; None: unreadable) -> how many."""

    rows: int = 0
    """The number of rows that were read."""

    left_out: Counter[str] = field(default_factory=Counter)
    """Why others were not -> how many."""

    unreadable: tuple[str, str] | None = None
    """The first reply that is no score, and its row."""

    _places: dict[Any, ReplyPlace | None] = field(default_factory=dict)
    """The values of `_place_fields` in a row -> where it belongs."""

    @classmethod
    def read(
        cls, rows: Iterable[Row], mapping: SampleMapping, *, where: str
    ) -> ReplyTable:
        """Read all rows; a repetition that is there twice, and a field that is not, are errors."""
        table = cls(mapping)
        repetitions: dict[ReplyPlace, set[str]] = defaultdict(set)
        for number, row in enumerate(rows, start=1):
            table.rows = number
            row_name = f"{where}: row {number}"
            place = table._known_place(row, row_name)
            if place is None:
                table.left_out["rows that the mapping does not want"] += 1
                continue
            if mapping.repetition:
                text = mapping.written(mapping.repetition, row, where=row_name)
                repetition = sys.intern(text)
                if repetition in repetitions[place]:
                    raise TableError(
                        f"{row_name}: expected each repetition once, found {repetition!r} again "
                        f"for group {place.cell.group!r} in context {place.cell.context!r}; name "
                        "what tells them apart in `repetition`, or leave it out of the mapping"
                    )
                repetitions[place].add(repetition)
            table.counts.setdefault(place, Counter())[table._reply(row, row_name)] += 1
        if not table.rows:
            raise TableError(f"{where}: expected replies, found no row")
        if not table.counts:
            raise TableError(
                f"{where}: expected rows that the mapping {mapping.name!r} wants, found none in "
                f"{table.rows:,}; see its `where`, `axis` and `parts`"
            )
        return table

    @cached_property
    def _place_fields(self) -> list[str] | None:
        """Return the fields that decide where a row belongs; None where one is inside another."""
        score = self.mapping.score
        names = [name for name in self.mapping.fields if f"{{{name}}}" != score]
        return None if any("." in name for name in names) else names

    def _known_place(self, row: Row, where: str) -> ReplyPlace | None:
        """Return where a row belongs; of rows with the same fields only the first is looked at."""
        if self._place_fields is None:
            return self._place(row, where)
        key = tuple(map(row.get, self._place_fields))
        if any(isinstance(value, list | dict) for value in key):
            return self._place(row, where)
        if key not in self._places:
            self._places[key] = self._place(row, where)
        return self._places[key]

    def _place(self, row: Row, where: str) -> ReplyPlace | None:
        """Return where a row belongs; None for one that the mapping does not want."""
        mapping = self.mapping
        fields = mapping.with_parts(row, where=where)
        if not mapping.wants(fields, where=where):
            return None
        edited = mapping.matches(mapping.placebo, fields, where=where)
        baseline = mapping.matches(mapping.baseline, fields, where=where)
        cell = mapping.place(fields, where=where)
        if baseline or (edited and mapping.baseline):
            cell = replace(cell, group=UNEDITED)
        axis = "" if baseline or edited else mapping.axis
        edit = mapping.edit if edited else ""
        return ReplyPlace(
            mapping.written(mapping.model, fields, where=where),
            mapping.written(axis, fields, where=where),
            cell,
            mapping.written(edit, fields, where=where),
            baseline,
        )

    def _reply(self, row: Row, where: str) -> str | None:
        """Return the category of a reply, or its score as a text; None where it has none."""
        if self.mapping.score:
            return self._score(row, where)
        fields = self.mapping.with_parts(row, where=where)
        return self.mapping.reply_category(fields, where=where)

    def _score(self, row: Row, where: str) -> str | None:
        mapping = self.mapping
        text = self._score_text(row, where)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not abs(value) <= LARGEST_SCORE:  # NaN is not
            self.unreadable = self.unreadable or (text, where)
            return None
        if mapping.step is not None:
            value = round(value / mapping.step) * mapping.step
        if mapping.scale and not mapping.scale[0] <= value <= mapping.scale[-1]:
            self.left_out["scores outside the scale"] += 1
            return None
        return f"{value:.10g}"

    def _score_text(self, row: Row, where: str) -> str:
        """Return what stands where the score should be; "" for null and for a list."""
        score = self.mapping.score
        try:
            return self.mapping.written(score, row, where=where).strip()
        except TableError:
            if score.strip("{}").split(".")[0] not in row:
                raise
            return ""

    def categories(self, where: str) -> list[str]:
        """Return the scores as categories in rising order, those of a whole scale that no reply
        gave included; empty where replies are categories."""
        if not self.mapping.score:
            return []
        self._check_scores(where)
        scores: set[float] = set()
        for counts in self.counts.values():
            scores.update(float(reply) for reply in counts if reply is not None)
        scale = self.mapping.scale
        if scale:
            scores.update(scale)
            lowest = scale[0]
            highest = scale[-1]
            if highest - lowest <= MOST_SCORES and all(
                score == round(score) for score in scores
            ):
                scores.update(map(float, range(int(lowest), int(highest) + 1)))
        if len(scores) > MOST_SCORES:
            raise TableError(
                f"{where}: expected at most {MOST_SCORES} different scores, found {len(scores):,}; "
                "round them with `step` in the mapping (--set step=0.1)"
            )
        if len(scores) == 1:
            scores.add(max(scores) + 1)
        return [f"{score:.10g}" for score in sorted(scores)]

    def _check_scores(self, where: str) -> None:
        """Refuse a table in which most replies are no score."""
        unread = sum(counts[None] for counts in self.counts.values())
        if 2 * unread > sum(counts.total() for counts in self.counts.values()):
            text, row_name = self.unreadable or ("", where)
            raise TableError(
                f"{row_name}: expected a number as score, found {brief(text)!r} (and in "
                f"{unread:,} of {self.rows:,} rows); name the field with the number in `score`"
            )

    def cells(
        self, model: str, axis: str, mapping: SampleMapping, categories: Sequence[str]
    ) -> tuple[SampleCells, SampleCells]:
        """Return the replies of a model about an axis, and its irrelevant edits beside the text
        that they edit (edits are the groups, texts, a group in a context, the contexts)."""
        cells = SampleCells(mapping, categories, fewest=1)
        edits = SampleCells(mapping, categories, fewest=1)
        cells.left_out.update(self.left_out)
        for place, counts in self.counts.items():
            if place.model != model:
                continue
            of_axis = place.axis == axis and not place.edit
            is_cell = axis in mapping.baseline_in if place.baseline else of_axis
            if is_cell:
                cells.samples += counts.total()
                for reply, n in counts.items():
                    cells.add_reply(place.cell, reply, n)
            unedited = place.baseline or (of_axis and not mapping.baseline)
            if mapping.placebo and (place.edit or unedited):
                text = f"{place.cell.group} · {place.cell.context}"
                edit = place.edit or UNEDITED
                for reply, n in counts.items():
                    edits.add_reply(
                        SamplePlace(edit, text, place.cell.context), reply, n
                    )
        return cells, edits
