"""The tables of a run's folder that hold its preferences, and preferences from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clinometer.errors import ClinometerError, RunError
from clinometer.measure import Preferences
from clinometer.measure.inference.target import Sampling
from clinometer.measure.preferences import as_reference
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record_schema import RunRecord

if TYPE_CHECKING:
    import pandas as pd

#: Prefix of the columns of contexts.parquet that contain labels of the context set.
LABEL = "label_"
#: Rows of preferences.parquet that are made at a time.
_MOST_ROWS = 1 << 20
#: Columns of preferences.parquet that are read; the others label the rows, which are in order.
_NUMBERS = ("p", "coverage", "p_low", "p_high", "answers")


def preference_rows(preferences: Preferences) -> Iterator[pa.Table]:
    """preferences.parquet, some groups at a time: all of a large run would take as much memory as
    measuring it. A missing number is null: our files contain no NaN."""
    X, C, K = preferences.values.shape
    some = max(1, _MOST_ROWS // (C * K))
    for first in range(0, X, some):
        frame = preferences.to_pandas(slice(first, first + some))
        yield pa.Table.from_pandas(frame, preserve_index=False)


def stored_preferences(record: RunRecord, tables: Mapping[str, pa.Table]) -> Preferences:
    """The preferences of a finished run, from what `read_finished` gives of its folder."""
    try:
        return _preferences(record, tables)
    except ClinometerError:
        raise
    except (KeyError, TypeError, ValueError) as error:  # a record with the tables of another
        raise RunError(
            f"run of {record.model.id!r}: run.json and its tables do not fit together; "
            f"{RunFolder.repair} writes the tables again from the scores"
        ) from error


def _preferences(record: RunRecord, tables: Mapping[str, pa.Table]) -> Preferences:
    cells = tables["preferences"]
    table = cells.select([name for name in _NUMBERS if name in cells.column_names]).to_pandas()
    contexts = tables["contexts"].to_pandas()
    groups = tables["groups"].to_pandas()
    categories = tuple(record.topic.attributes)
    shape = (len(groups), len(contexts), len(categories))
    reference = record.topic.reference
    coverage = table["coverage"].to_numpy(dtype=float).reshape(shape)[:, :, 0]
    known = record.model.kind == "reference"
    return Preferences(
        values=table["p"].to_numpy(dtype=float).reshape(shape),
        groups=tuple(groups["group"]),
        contexts=tuple(contexts["context_id"]),
        categories=categories,
        context_weights=contexts["weight"].to_numpy(dtype=float),
        group_weights=groups["weight"].to_numpy(dtype=float),
        reference=as_reference(reference),
        coverage=None if np.isnan(coverage).all() else coverage,
        coverage_threshold=record.settings.coverage_threshold,
        templates=tuple(contexts["template"]),
        sampling=Sampling() if known else record.contexts.sampling,
        labels={
            name.removeprefix(LABEL): tuple(contexts[name])
            for name in contexts.columns
            if name.startswith(LABEL)
        },
        low=_cells(table, "p_low", shape),
        high=_cells(table, "p_high", shape),
        answers=None if (n := _cells(table, "answers", shape)) is None else n[:, :, 0],
    )


def _cells(table: pd.DataFrame, name: str, shape: tuple[int, ...]) -> Any:
    """A column of preferences.parquet as an array, or None where the run has none."""
    if name not in table.columns:
        return None
    return table[name].to_numpy(dtype=float).reshape(shape)
