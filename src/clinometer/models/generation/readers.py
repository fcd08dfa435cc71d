"""Readouts by their `[readout]`: those of this package, and those that packages add."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from clinometer.errors import TopicError
from clinometer.readouts.choice import ChoiceReader
from clinometer.readouts.protocol import Readout
from clinometer.readouts.rating import RatingReader
from clinometer.readouts.tables import (
    ENTRY_POINTS,
    ChoiceTable,
    RatingTable,
    ReadoutTable,
    TextTable,
)
from clinometer.readouts.text import FunctionReader, WordCountReader


def open_reader(table: ReadoutTable, attributes: Mapping[str, tuple[str, ...]]) -> Readout:
    """The readout that a topic names; a package's one gets the keys of its table."""
    if isinstance(table, ChoiceTable):
        return ChoiceReader(tuple(attributes.values()))
    if isinstance(table, RatingTable):
        return RatingReader(table.scale)
    if isinstance(table, TextTable):
        return _text_reader(table, attributes)
    for entry in entry_points(group=ENTRY_POINTS, name=table.kind):
        made: Readout = entry.load()(table.model_dump(), dict(attributes))
        return made
    raise TopicError(
        f"readout.kind: the package that brings {table.kind!r} is gone; install it again"
    )


def _text_reader(table: TextTable, attributes: Mapping[str, tuple[str, ...]]) -> Readout:
    if table.by == "words":
        return WordCountReader(dict(attributes))
    if table.function is not None:
        return FunctionReader.of(table.function, tuple(attributes))
    from clinometer.models.generation.text_readers import ClassifierReader, JudgeReader

    if table.model is not None and table.rubric is not None:
        return JudgeReader(table.model, table.rubric, attributes)
    return ClassifierReader(table.model or "", tuple(attributes), table.names)
