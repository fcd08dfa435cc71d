"""Tables of replies as runs: any file with one reply per row, read by a mapping.

A table may hold several models and several subjects (axes); each pair of them is a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from clinometer.bridges.imported import KIND, import_record, measured_import
from clinometer.bridges.mapping import SampleMapping, load_mapping
from clinometer.bridges.reply_files import Row, reply_rows
from clinometer.bridges.reply_table import ReplyTable
from clinometer.bridges.sample_cells import SampleCells
from clinometer.contexts.template import context_ids
from clinometer.display.text import visible
from clinometer.errors import TableError
from clinometer.measure import Preferences
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run
from clinometer.settings import with_settings
from clinometer.storage.untrusted import folder_names

MOST_RUNS = 1_000
"""Models times axes of a table."""


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
    path = Path(path)
    where = str(path)
    if isinstance(mapping, str):
        mapping = load_mapping(mapping)
    source = import_record(path, "replies")
    table = _read_table(path, mapping)
    mapping = table.mapping
    categories = table.categories(where)
    changes: dict[str, Any] = {"noun": mapping.noun or "case"}
    if categories or mapping.reference is None:
        changes["reference"] = "group-mean"
    mapping = mapping.model_copy(update=changes)
    if categories:
        settings = with_settings(settings, {"criterion": "points"})
    subjects = _subjects(table, where)
    chosen = _chosen(subjects, only, where)
    folders = _folders(subjects, chosen)
    runs = []
    for (name, axis), folder in zip(chosen, folders, strict=True):
        cells, edits = table.cells(name, axis, mapping, categories)
        _check_shared(cells, where)
        run = measured_import(
            cells,
            ModelInfo(
                name=visible(name or model or path.name.partition(".")[0]),
                kind=KIND,
                revision="as published",
            ),
            source.model_copy(update={"task": axis}),
            settings,
            out=None if out is None else Path(out) / folder,
            fresh=fresh,
            title=mapping.titles.get(axis, ""),
            placebo=_placebo(edits),
        )
        runs.append(run)
    return runs


def _read_table(path: Path, mapping: SampleMapping) -> ReplyTable:
    """Read the replies of a file; of a table without models or repetitions also by a mapping that
    names them."""
    rows = reply_rows(path)
    first_row = next(rows, None)
    if first_row:
        rows = chain([first_row], rows)
        if ".json" not in path.name:  # every row has the same columns
            mapping = _without_absent(mapping, first_row)
    return ReplyTable.read(rows, mapping, where=str(path))


def _without_absent(mapping: SampleMapping, row: Row) -> SampleMapping:
    """Return the mapping without the model and the repetition, where a table has no such column."""
    absent = [
        name
        for name in ("model", "repetition")
        if getattr(mapping, name) == f"{{{name}}}" and name not in row
    ]
    return mapping.model_copy(update=dict.fromkeys(absent, ""))


def _subjects(table: ReplyTable, where: str) -> list[tuple[str, str]]:
    """Return every model with each axis that it was asked about."""
    subjects = {
        (place.model, place.axis): None
        for place in table.counts
        if not place.edit and not place.baseline
    }
    if not subjects:
        raise TableError(
            f"{where}: expected groups beside irrelevant edits and the text that was edited, "
            "found none; see `placebo` and `baseline` of the mapping"
        )
    if len(subjects) > MOST_RUNS:
        raise TableError(
            f"{where}: expected at most {MOST_RUNS:,} models and axes, each a run, found "
            f"{len(subjects):,}; are `model` and `axis` of the mapping columns of names?"
        )
    return list(subjects)


def _chosen(
    subjects: Sequence[tuple[str, str]], only: Sequence[str], where: str
) -> list[tuple[str, str]]:
    """Return the models with those axes that fit one of the patterns `only`; all without any."""
    chosen = [
        (model, axis)
        for model, axis in subjects
        if not only or any(fnmatchcase(axis, pattern) for pattern in only)
    ]
    if not chosen:
        axes = ", ".join(sorted({axis for _, axis in subjects}))
        raise TableError(
            f"{where}: --only: expected some of {axes or 'no axis, since the mapping has none'}; "
            f"found {', '.join(only)}"
        )
    return chosen


def _folders(
    subjects: Sequence[tuple[str, str]], chosen: Sequence[tuple[str, str]]
) -> list[Path]:
    """Return the folder of each run below that of all: by its axis and its model, where there are
    several."""
    models = {model for model, _ in subjects}
    axes = {axis for _, axis in chosen}
    names = folder_names([*axes, *models])
    folders = []
    for model, axis in chosen:
        folder = Path()
        if len(axes) > 1:
            folder /= names[axis]
        if len(models) > 1 and len(chosen) > 1:
            folder /= names[model]
        folders.append(folder)
    return folders


def _check_shared(cells: SampleCells, where: str) -> None:
    """Refuse several groups that share no context."""
    if len(cells.groups) > 1 and not cells.shared:
        raise TableError(
            f"{where}: expected replies about several groups in one context, found every "
            "context with one group: nothing is the same but the person. Name the case in "
            "`context` (--set context={case}); of decisions about people as they came, say "
            "'clinometer import decisions TABLE --by COLUMNS --selected VALUE'"
        )


def _placebo(edits: SampleCells) -> Preferences | None:
    """Return edits × texts with the context of each text, or None without edits."""
    if len(edits.groups) < 2:
        return None
    preferences = edits.preferences()
    contexts = tuple(context_ids([text])[0] for text in preferences.templates)
    return replace(preferences, labels={"context": contexts})
