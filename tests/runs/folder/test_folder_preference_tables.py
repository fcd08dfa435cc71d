"""Preferences in the tables of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.preferences import labelled, pair

from clinometer.runs.folder import folder as preference_tables
from clinometer.runs.folder.folder import preference_rows
from clinometer.storage.parquet_parts import digest_of, write_table


@pytest.mark.parametrize("rows", [1, 24, 40, 10_000])
def test_a_table_written_piece_by_piece_is_the_whole(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    first = rng.random((5, 4))
    first[1, 2] = np.nan
    p = labelled(
        pair(first),
        coverage=rng.random((5, 4)),
        low=np.zeros((5, 4, 2)),
        high=np.ones((5, 4, 2)),
        answers=np.arange(20.0).reshape(5, 4),
    )
    monkeypatch.setattr(preference_tables, "_MOST_ROWS", rows)
    pieces = list(preference_rows(p))
    assert len(pieces) == {1: 5, 24: 2, 40: 1, 10_000: 1}[rows]
    digest = write_table(tmp_path / "t.parquet", iter(pieces))
    assert digest == digest_of((tmp_path / "t.parquet").read_bytes())
    read = pq.read_table(tmp_path / "t.parquet")
    whole = pa.Table.from_pandas(p.to_pandas(), preserve_index=False)
    assert read.to_pydict() == whole.to_pydict()
    assert read["p"].null_count == 2
