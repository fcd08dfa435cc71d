"""The folder of a reliability run: what it leaves behind, and all that resume and report read.

run.json                    what was asked of whom, with what result
scores/MODEL/part-*.parquet log-probabilities of texts as they came, for each model
statements.parquet          a row a statement: tau, cv, cobias, stability, intervals, flags
models.parquet              a row a statement and model
versions.parquet            a row a version: its text, tau, and why it was left out
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from tiltmeter.atomic import replacing
from tiltmeter.errors import RunError
from tiltmeter.models.text_scores import TextScores
from tiltmeter.parts import Parts, decode, digest_of, encode

SCHEMA_VERSION = 1
KIND = "reliability"
TABLES = ("statements", "models", "versions")


class ReliabilityFolder:
    """A folder with the files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def record_file(self) -> Path:
        return self.path / "run.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One process writes a run at a time; the lock goes with the process."""
        lock = FileLock(self.path / ".lock")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout as error:
            raise RunError(f"{self.path}: another process is writing this run") from error
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from error
        try:
            yield
        finally:
            lock.release()

    def read_record(self) -> dict[str, Any] | None:
        """The content of run.json, checked for being one of ours; None if there is none."""
        try:
            record = json.loads(self.record_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunError(f"{self.record_file}: cannot be read: {error}") from error
        if not isinstance(record, dict) or record.get("kind") != KIND:
            raise RunError(f"{self.path}: expected a run of tiltmeter reliability, found another")
        if record.get("schema_version") != SCHEMA_VERSION:
            found = record.get("schema_version")
            raise RunError(
                f"{self.record_file}: expected schema version {SCHEMA_VERSION}, found {found!r}"
            )
        return record

    def write_record(self, record: dict[str, Any]) -> None:
        """Write run.json; NaN and infinity are refused rather than written."""
        stamped = {**record, "updated": datetime.now(UTC).isoformat(timespec="seconds")}
        text = json.dumps(stamped, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text, encoding="utf-8")

    def write_finished(self, record: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Tables first, then run.json with their digests: what says finished has all its files."""
        digests = {}
        for name, table in tables.items():
            data = encode(table)
            with replacing(self.path / f"{name}.parquet", error=RunError) as beside:
                beside.write_bytes(data)
            digests[name] = digest_of(data)
        self.write_record({**record, "status": "finished", "tables": digests})

    def read_finished(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """run.json and the tables that it names."""
        record = self.read_record()
        if record is None or record.get("status") != "finished":
            raise RunError(f"{self.path}: no finished run; 'tiltmeter reliability score' makes one")
        tables = {}
        for name in TABLES:
            file = self.path / f"{name}.parquet"
            data = file.read_bytes() if file.is_file() else b""
            if digest_of(data) != record["tables"].get(name):
                raise RunError(f"{file}: damaged; the same command writes it again from the scores")
            tables[name] = decode(data)
        return record, tables

    def clear(self) -> None:
        """Remove what an earlier run left here, and nothing else."""
        self.record_file.unlink(missing_ok=True)
        for folder in (self.path / "scores").glob("*"):
            Parts(folder).clear()
        for name in TABLES:
            (self.path / f"{name}.parquet").unlink(missing_ok=True)

    # --- scores -------------------------------------------------------------------------------

    def write_scores(self, model: str, rows: NDArray[np.int64], scores: TextScores) -> None:
        """One part: texts by their number in the run, and their scores."""
        table = pa.table(
            {
                "text": pa.array(rows),
                "log_prob": pa.array(scores.log_prob),
                "tokens": pa.array(scores.tokens),
                "unknown": pa.array(scores.unknown),
                "problem": pa.array(scores.problem),
            }
        )
        self._parts(model).write(int(rows[0]), table)

    def read_scores(self, model: str) -> Iterator[tuple[NDArray[np.int64], TextScores]]:
        """All parts; one that is damaged is removed, so that its texts are scored again."""
        for file, table in self._parts(model).read():
            if table is None:
                file.unlink(missing_ok=True)
                continue
            yield (
                table["text"].to_numpy(),
                TextScores(
                    table["log_prob"].to_numpy(),
                    table["tokens"].to_numpy(),
                    table["unknown"].to_numpy(),
                    tuple(table["problem"].to_pylist()),
                ),
            )

    def _parts(self, model: str) -> Parts:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
        return Parts(self.path / "scores" / f"{name}-{digest_of(model.encode())[:6]}")
