"""Tables as the command line writes and reads them: a frame to a file, the rows of a file by id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clinometer.errors import TableError
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import (
    Row,
    csv_text,
    need_columns,
    need_unique_ids,
    read_rows,
)

if TYPE_CHECKING:
    import pandas as pd


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as csv or parquet, depending on the file's suffix."""
    if path.suffix not in {".csv", ".parquet"}:
        raise TableError(f"{path}: expected a file name that ends in .csv or .parquet")
    with output_file(path) as temporary:
        if path.suffix == ".csv":
            temporary.write_text(csv_text(frame), encoding="utf-8")
        else:
            frame.to_parquet(temporary, index=False)


def rows_by_id(path: Path, *columns: str) -> dict[str, Row]:
    """Return the rows of a table that has an id and these columns."""
    rows = list(read_rows(path))
    need_columns(path, rows, ("id", *columns))
    ids = [str(row["id"]).strip() for row in rows]
    need_unique_ids(path, ids)
    return dict(zip(ids, rows, strict=True))
