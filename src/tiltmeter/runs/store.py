"""The run folder: what a run leaves behind, and all that resume, replay and report read.

    run.json                what was asked of whom, with what result, and the digests of the tables
    scores/part-*.parquet   log-probabilities as scored, written as they come
    preferences.parquet     group, context_id, attribute, p, coverage, flag
    groups.parquet          the risks of each group
    contexts.parquet        context_id, template, weight, influence

Every file appears whole or not at all, so a run that is killed at any moment can be continued. A
reader beside the writer gets tables that belong together: run.json is written last and names them
by digest.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from tiltmeter.atomic import replacing
from tiltmeter.errors import RunError
from tiltmeter.models import WordScores
from tiltmeter.parts import Parts, decode, digest_of, encode
from tiltmeter.runs.score_table import from_table, to_table

SCHEMA_VERSION = 1
TABLES = ("preferences", "groups", "contexts")

#: Seconds between a reader's looks at a run that is just being written.
_LOOKS_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


class RunFolder:
    """A folder with the files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parts = Parts(path / "scores")

    @property
    def record_file(self) -> Path:
        return self.path / "run.json"

    def exists(self) -> bool:
        return self.record_file.is_file()

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
        except OSError as error:
            raise RunError(f"{self.record_file}: cannot be read: {error.strerror}") from error
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
        self.record_file.unlink(missing_ok=True)
        self.parts.clear()
        for name in TABLES:
            self._table_file(name).unlink(missing_ok=True)

    # --- tables -------------------------------------------------------------------------------

    def write_finished(self, record: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Tables first, then run.json with their digests: what says finished has all its files."""
        digests = {}
        for name, table in tables.items():
            data = encode(table)
            with replacing(self._table_file(name), error=RunError) as beside:
                beside.write_bytes(data)
            digests[name] = digest_of(data)
        self.write_record({**record, "status": "finished", "tables": digests})

    def read_finished(
        self, names: Sequence[str] = TABLES
    ) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """run.json with the tables that it names, all of one writing.

        A run that is being measured again meanwhile is looked at again until it stands still.
        """
        problem = ""
        for pause in _LOOKS_S:
            time.sleep(pause)
            record = self.read_record()
            if record.get("status") != "finished":
                raise RunError(
                    f"{self.path}: the run is not finished; the command that began it continues it"
                )
            tables = {}
            for name in names:
                file = self._table_file(name)
                try:
                    data = file.read_bytes()
                except OSError as error:
                    problem = f"{file}: cannot be read: {error.strerror}"
                    break
                if digest_of(data) != record.get("tables", {}).get(name):
                    problem = f"{file}: damaged, or not of this run"
                    break
                tables[name] = decode(data)
            else:
                return record, tables
        raise RunError(f"{problem}; 'tiltmeter audit … --replay' writes it again from the scores")

    def read_table(self, name: str) -> pa.Table:
        """One table of a finished run."""
        return self.read_finished([name])[1][name]

    def _table_file(self, name: str) -> Path:
        return self.path / f"{name}.parquet"

    # --- scores -------------------------------------------------------------------------------

    def write_scores(self, scored: Sequence[tuple[NDArray[np.int64], WordScores]]) -> None:
        """One part: cells by number, and their scores."""
        table = pa.concat_tables([to_table(cells, scores) for cells, scores in scored])
        self.parts.write(int(scored[0][0][0]), table)

    def read_scores(
        self, *, words: int, repair: bool = True
    ) -> Iterator[tuple[NDArray[np.int64], WordScores]]:
        """All parts as (cell numbers, scores).

        A damaged part is removed, so that its cells are scored again; without `repair` it is an
        error.
        """
        for file, table in self.parts.read():
            found = None if table is None else from_table(table, words=words)
            if found is not None:
                yield found
            elif repair:
                file.unlink(missing_ok=True)
            else:
                raise RunError(
                    f"{file}: damaged; 'tiltmeter audit' without --replay scores it anew"
                )
