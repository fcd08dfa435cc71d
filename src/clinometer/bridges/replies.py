"""Tables of replies as runs: any file with one reply per row, read by a mapping.

A table may hold several models and several subjects (axes); each pair of them is a run. What is
kept in memory are counts of replies per cell, not rows.
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from clinometer.bridges.imported import (
    KIND,
    import_record,
    measured_import,
)
from clinometer.bridges.mapping import SampleMapping, SamplePlace, load_mapping
from clinometer.bridges.sample_cells import SampleCells
from clinometer.contexts.template import context_ids
from clinometer.display.text import brief, visible
from clinometer.errors import TableError
from clinometer.measure import Preferences
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run
from clinometer.runs.placebo import UNEDITED
from clinometer.settings import with_settings
from clinometer.storage.rows import read_rows, reading
from clinometer.storage.untrusted import folder_names, read_json

MOST_SCORES = 201
"""Different scores that a scale may have."""
LARGEST_SCORE = 1e12
"""Beyond it the square of a score has no room for the digits of others."""

MOST_RUNS = 1_000
"""Models times axes of a table."""

MOST_BYTES = 4 << 30
"""Of a text table, unpacked; rows are not kept."""

Row = Mapping[str, Any]


# --- Files ----------------------------------------------------------------------------------------


def reply_rows(path: Path) -> Iterator[Row]:
    """The rows of a table (csv, tsv, jsonl, parquet), or of a JSON file: promptfoo's, or a list."""
    name = path.name.removesuffix(".gz").removesuffix(".zst").lower()
    if name.endswith(".json"):
        with reading(path, TableError):
            content = read_json(path)
        yield from _json_rows(content, path)
    elif name.endswith((".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")):
        yield from read_rows(path, most=MOST_BYTES, loose=True)
    else:
        raise TableError(
            f"{path}: expected a file .csv, .tsv, .jsonl, .json or .parquet (also .gz)"
        )


def _json_rows(content: Any, path: Path) -> Iterator[Row]:
    """The replies in a JSON file, by its shape: promptfoo's, or a list."""
    known = content if isinstance(content, Mapping) else {}
    results = known.get("results")
    if isinstance(results, Mapping) and isinstance(results.get("results"), list):
        try:
            yield from _of_promptfoo(results["results"])
        except (AttributeError, LookupError, TypeError) as error:
            raise TableError(
                f"{path}: expected the file as the tool wrote it, found a reply of another "
                f"shape: {brief(error)}"
            ) from error
        return
    if not isinstance(content, list):
        raise TableError(
            f"{path}: expected a list of replies, found {brief(content)!r}"
        )
    for number, value in enumerate(content):
        if not isinstance(value, Mapping):
            raise TableError(
                f"{path}: item {number}: expected an object with a reply, found {brief(value)!r}"
            )
        yield value


def _of_promptfoo(results: Iterable[Any]) -> Iterator[Row]:
    for row in results:
        provider = row.get("provider") or {}
        named = (
            provider
            if isinstance(provider, str)
            else provider.get("label") or provider["id"]
        )
        tested = (row.get("testCase") or {}).get("vars") or {}
        failed = (
            row.get("failureReason") == 2
        )  # of the provider, whose score of 0 does not count
        yield {
            "promptIdx": 0,
            **row,
            "provider": named,
            "vars": {**tested, **(row.get("vars") or {})},
            **({"score": None, "response": {"output": None}} if failed else {}),
        }


# --- Replies --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """Where a row belongs; `edit` is the name of an irrelevant edit, else empty."""

    model: str
    axis: str
    place: SamplePlace
    edit: str
    baseline: bool


@dataclass
class ReplyTable:
    """Counts of replies by place, read row by row.

    counts    place -> reply (a score's text, or a category; None: unreadable) -> how many
    rows      that were read
    left_out  why others were not
    """

    mapping: SampleMapping
    counts: dict[_Place, Counter[str | None]] = field(default_factory=dict)
    rows: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unread: tuple[str, str] | None = None

    @classmethod
    def read(
        cls, rows: Iterable[Row], mapping: SampleMapping, *, where: str
    ) -> ReplyTable:
        """All rows; a repetition that is there twice, and a field that is not, are errors."""
        table = cls(mapping)
        names = [name for name in mapping.fields if f"{{{name}}}" != mapping.score]
        flat = all("." not in name for name in names)
        known: dict[Any, _Place | None] = {}  # by the fields of a row
        seen: dict[_Place, set[str]] = defaultdict(set)  # repetitions
        for number, row in enumerate(rows, start=1):
            table.rows, at = number, f"{where}: row {number}"
            key = tuple(map(row.get, names))
            if not flat or any(isinstance(value, list | dict) for value in key):
                place = table._place(row, at)
            elif key in known:
                place = known[key]
            else:
                place = known[key] = table._place(row, at)
            if place is None:
                table.left_out["rows that the mapping does not want"] += 1
                continue
            if mapping.repetition:
                repetition = sys.intern(
                    mapping.written(mapping.repetition, row, where=at)
                )
                if repetition in seen[place]:
                    raise TableError(
                        f"{at}: expected each repetition once, found {repetition!r} again for "
                        f"group {place.place.group!r} in context {place.place.context!r}; name "
                        "what tells them apart in `repetition`, or leave it out of the mapping"
                    )
                seen[place].add(repetition)
            table.counts.setdefault(place, Counter())[table._reply(row, at)] += 1
        if not table.rows:
            raise TableError(f"{where}: expected replies, found no row")
        if not table.counts:
            raise TableError(
                f"{where}: expected rows that the mapping {mapping.name!r} wants, found none in "
                f"{table.rows:,}; see its `where`, `axis` and `parts`"
            )
        return table

    def _place(self, row: Row, at: str) -> _Place | None:
        m = self.mapping
        fields = m.with_parts(row, where=at)
        if not m.wants(fields, where=at):
            return None
        edited = m.matches(m.placebo, fields, where=at)
        base = m.matches(m.baseline, fields, where=at)
        placed = m.place(fields, where=at)
        group = UNEDITED if base or (edited and m.baseline) else placed.group
        return _Place(
            m.written(m.model, fields, where=at) if m.model else "",
            "" if not m.axis or base or edited else m.written(m.axis, fields, where=at),
            replace(placed, group=group),
            m.written(m.edit, fields, where=at) if edited else "",
            base,
        )

    def _reply(self, row: Row, at: str) -> str | None:
        m = self.mapping
        if not m.score:
            return m.reply_category(m.with_parts(row, where=at), where=at)
        try:
            text = m.written(m.score, row, where=at).strip()
        except TableError:
            if m.score.strip("{}").split(".")[0] not in row:
                raise
            text = ""  # null, or a list
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not abs(value) <= LARGEST_SCORE:  # NaN is not
            self.unread = self.unread or (text, at)
            return None
        if m.step is not None:
            value = round(value / m.step) * m.step
        if m.scale and not m.scale[0] <= value <= m.scale[-1]:
            self.left_out["scores outside the scale"] += 1
            return None
        return f"{value:.10g}"

    def categories(self, where: str) -> list[str]:
        """The scores as categories in rising order, those of a whole scale that no reply gave
        included; empty where replies are categories."""
        if not self.mapping.score:
            return []
        unread = sum(counts[None] for counts in self.counts.values())
        if 2 * unread > sum(counts.total() for counts in self.counts.values()):
            text, at = self.unread or ("", where)
            raise TableError(
                f"{at}: expected a number as score, found {brief(text)!r} (and in {unread:,} of "
                f"{self.rows:,} rows); name the field with the number in `score`"
            )
        seen = {
            float(r) for counts in self.counts.values() for r in counts if r is not None
        }
        if scale := self.mapping.scale:
            seen |= set(scale)
            if scale[-1] - scale[0] <= MOST_SCORES and all(
                value == round(value) for value in seen
            ):
                seen |= {
                    float(value) for value in range(int(scale[0]), int(scale[-1]) + 1)
                }
        if len(seen) > MOST_SCORES:
            raise TableError(
                f"{where}: expected at most {MOST_SCORES} different scores, found {len(seen):,}; "
                "round them with `step` in the mapping (--set step=0.1)"
            )
        if len(seen) == 1:
            seen |= {max(seen) + 1}
        return [f"{value:.10g}" for value in sorted(seen)]

    def cells(
        self, model: str, axis: str, mapping: SampleMapping, categories: Sequence[str]
    ) -> tuple[SampleCells, SampleCells]:
        """The replies of a model about an axis, and its irrelevant edits beside the text that they
        edit (edits are the groups, texts, a group in a context, the contexts)."""
        cells, edits = (SampleCells(mapping, categories, fewest=1) for _ in range(2))
        cells.left_out.update(self.left_out)
        for place, counts in self.counts.items():
            if place.model != model:
                continue
            own = place.axis == axis and not place.edit
            if axis in mapping.baseline_in if place.baseline else own:
                cells.samples += counts.total()
                for reply, n in counts.items():
                    cells.add_reply(place.place, reply, n)
            edited = place.baseline or (own and not mapping.baseline)
            if mapping.placebo and (place.edit or edited):
                text = f"{place.place.group} · {place.place.context}"
                at = SamplePlace(place.edit or UNEDITED, text, place.place.context)
                for reply, n in counts.items():
                    edits.add_reply(at, reply, n)
        return cells, edits


def import_replies(
    path: str | Path,
    mapping: str | SampleMapping = "replies",
    settings: AuditSettings | None = None,
    *,
    out: str | Path | None = None,
    only: Sequence[str] = (),
    model: str | None = None,
    fresh: bool = False,
    **options: Any,
) -> list[Run]:
    """Measure every model and axis of a table of replies: one run each.

    Args:
        path: a table, or a result file of another tool.
        mapping: which fields are what: a ready mapping by name, or a .toml file.
        settings, options: of the measures and intervals, as in `clinometer.audit`.
        out: the folder of the runs; a single one is written to it, several below it.
        only: axes to take, or patterns of them; all unless given.
        model: the name of the model where the table has none.
    """
    settings = with_settings(settings or AuditSettings(), options)
    path, where = Path(path), str(path)
    mapping = load_mapping(mapping) if isinstance(mapping, str) else mapping
    source = import_record(path, "replies")
    rows = reply_rows(path)
    if first := next(rows, None):
        rows = chain([first], rows)
        if ".json" not in path.name:  # every row has the same columns
            optional = (
                k for k in ("model", "repetition") if getattr(mapping, k) == f"{{{k}}}"
            )
            absent = [name for name in optional if name not in first]
            mapping = mapping.model_copy(update=dict.fromkeys(absent, ""))
    table = ReplyTable.read(rows, mapping, where=where)
    categories = table.categories(where)
    told: dict[str, Any] = {"noun": mapping.noun or "case"}
    if categories or mapping.reference is None:
        told["reference"] = "group-mean"
    mapping = mapping.model_copy(update=told)
    if categories:
        settings = with_settings(settings, {"criterion": "points"})
    keys = dict.fromkeys(
        (p.model, p.axis) for p in table.counts if not p.edit and not p.baseline
    )
    if not keys:
        raise TableError(
            f"{where}: expected groups beside irrelevant edits and the text that was edited, "
            "found none; see `placebo` and `baseline` of the mapping"
        )
    if len(keys) > MOST_RUNS:
        raise TableError(
            f"{where}: expected at most {MOST_RUNS:,} models and axes, each a run, found "
            f"{len(keys):,}; are `model` and `axis` of the mapping columns of names?"
        )
    chosen = [
        key for key in keys if not only or any(fnmatchcase(key[1], p) for p in only)
    ]
    if not chosen:
        known = ", ".join(sorted({axis for _, axis in keys}))
        raise TableError(
            f"{where}: --only: expected some of {known or 'no axis, since the mapping has none'}; "
            f"found {', '.join(only)}"
        )
    axes, models = {axis for _, axis in chosen}, {name for name, _ in keys}
    names = folder_names([*axes, *models])
    runs = []
    for name, axis in chosen:
        folder = None if out is None else Path(out)
        if folder and len(axes) > 1:
            folder /= names[axis]
        if folder and len(models) > 1 and len(chosen) > 1:
            folder /= names[name]
        cells, edits = table.cells(name, axis, mapping, categories)
        if len(cells.groups) > 1 and not cells.shared:
            raise TableError(
                f"{where}: expected replies about several groups in one context, found every "
                "context with one group: nothing is the same but the person. Name the case in "
                "`context` (--set context={case}); of decisions about people as they came, say "
                "'clinometer import decisions TABLE --by COLUMNS --selected VALUE'"
            )
        runs.append(
            measured_import(
                cells,
                ModelInfo(
                    name=visible(name or model or path.name.partition(".")[0]),
                    kind=KIND,
                    revision="as published",
                ),
                source.model_copy(update={"task": axis}),
                settings,
                out=folder,
                fresh=fresh,
                title=mapping.titles.get(axis, ""),
                placebo=_placebo(edits),
            )
        )
    return runs


def _placebo(edits: SampleCells) -> Preferences | None:
    """Edits × texts with the context of each text, or None without edits."""
    if len(edits.groups) < 2:
        return None
    found = edits.preferences()
    contexts = tuple(context_ids([text])[0] for text in found.templates)
    return replace(found, labels={"context": contexts})
