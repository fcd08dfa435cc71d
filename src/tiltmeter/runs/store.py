"""The run folder: what a run leaves behind, and all that resume, replay and report read.

    run.json                what was asked of whom, with what result
    scores/part-*.parquet   log-probabilities as scored, written as they come
    preferences.parquet     group, context_id, attribute, p, coverage, flag
    groups.parquet          the risks of each group
    contexts.parquet        context_id, template, weight, influence

Every file appears whole or not at all, so a run that is killed at any moment can be continued, and
a reader beside it never sees a torn file.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from tiltmeter.atomic import replacing
from tiltmeter.errors import RunError
from tiltmeter.models import WordScores

SCHEMA_VERSION = 1


class RunFolder:
    """A folder with the files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def record_file(self) -> Path:
        return self.path / "run.json"

    def exists(self) -> bool:
        return self.record_file.is_file()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One process writes a run at a time; the lock goes with the process."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".lock")
            with lock.acquire(timeout=0):
                yield
        except Timeout as error:
            raise RunError(f"{self.path}: another process is writing this run") from error
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from error

    # --- run.json -----------------------------------------------------------------------------

    def read_record(self) -> dict[str, Any]:
        """The content of run.json, checked for being one of ours."""
        if not self.path.is_dir():
            raise RunError(f"{self.path}: no such run folder")
        try:
            record = json.loads(self.record_file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise RunError(
                f"{self.path}: expected a run folder, found no run.json in it"
            ) from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise RunError(f"{self.record_file}: damaged: {error}") from error
        version = record.get("schema_version") if isinstance(record, dict) else None
        if version != SCHEMA_VERSION:
            raise RunError(
                f"{self.record_file}: expected schema version {SCHEMA_VERSION}, found {version!r}"
            )
        return dict(record)

    def write_record(self, record: dict[str, Any]) -> None:
        """Write run.json; NaN and infinity are refused rather than written."""
        stamped = {**record, "updated": datetime.now(UTC).isoformat(timespec="seconds")}
        text = json.dumps(stamped, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text, encoding="utf-8")

    def clear(self) -> None:
        """Remove what an earlier run left here, and nothing else."""
        with contextlib.suppress(FileNotFoundError):
            self.record_file.unlink()
        shutil.rmtree(self.path / "scores", ignore_errors=True)
        for name in ("preferences", "groups", "contexts"):
            with contextlib.suppress(FileNotFoundError):
                (self.path / f"{name}.parquet").unlink()

    # --- tables -------------------------------------------------------------------------------

    def write_table(self, name: str, table: pa.Table) -> None:
        with replacing(self.path / f"{name}.parquet", error=RunError) as beside:
            pq.write_table(table, beside, compression="zstd")

    def read_table(self, name: str) -> pa.Table:
        file = self.path / f"{name}.parquet"
        try:
            return pq.read_table(file)
        except FileNotFoundError as error:
            raise RunError(f"{self.path}: has no {file.name}; finish the run first") from error
        except (pa.ArrowException, OSError) as error:
            raise RunError(f"{file}: damaged: {str(error).splitlines()[0]}") from error

    # --- scores -------------------------------------------------------------------------------

    def write_scores(self, first: int, scores: WordScores) -> None:
        """One part: the scores of the cells from number `first` on (group by group)."""
        folder = self.path / "scores"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: cannot be written: {error.strerror}") from error
        n, width = scores.log_probs.shape
        flat = pa.array(scores.log_probs.astype(np.float32).reshape(-1))
        table = pa.table(
            {
                "cell": pa.array(np.arange(first, first + n, dtype=np.int64)),
                "log_probs": pa.FixedSizeListArray.from_arrays(flat, width),
                "log_coverage": pa.array(scores.log_coverage.astype(np.float32)),
                "skipped": pa.array(scores.skipped.astype(np.float32)),
            }
        )
        if scores.log_upper is not None:
            flat = pa.array(scores.log_upper.astype(np.float32).reshape(-1))
            upper = pa.FixedSizeListArray.from_arrays(flat, width)
            table = table.append_column("log_upper", upper)
        if scores.draws is not None:
            draws = pa.array([list(row) for row in scores.draws], pa.list_(pa.string()))
            table = table.append_column("draws", draws)
        with replacing(folder / f"part-{first:09d}.parquet", error=RunError) as beside:
            pq.write_table(table, beside, compression="zstd")

    def read_scores(self, *, words: int) -> Iterator[tuple[NDArray[np.int64], WordScores]]:
        """All parts that can be read, as (cell numbers, scores); a damaged part is removed, so that
        its cells are scored again."""
        for file in sorted((self.path / "scores").glob("part-*.parquet")):
            try:
                table = pq.read_table(file)
                cells = table["cell"].to_numpy()
                scores = WordScores(
                    log_probs=_matrix(table["log_probs"], words),
                    log_coverage=table["log_coverage"].to_numpy().astype(np.float64),
                    skipped=table["skipped"].to_numpy().astype(np.float64),
                    log_upper=_matrix(table["log_upper"], words)
                    if "log_upper" in table.column_names
                    else None,
                    draws=tuple(map(tuple, table["draws"].to_pylist()))
                    if "draws" in table.column_names
                    else None,
                )
            except (pa.ArrowException, OSError, KeyError, ValueError):
                file.unlink(missing_ok=True)
                continue
            yield cells, scores


def _matrix(column: pa.ChunkedArray, width: int) -> NDArray[np.float64]:
    flat = column.combine_chunks().flatten().to_numpy()
    return np.asarray(flat.reshape(len(column), width).astype(np.float64))
