"""A jsonl file that grows a statement at a time and is continued by the same command.

NAME.jsonl   a row a statement, written when it is done
NAME.json    what was asked with what settings, and, at the end, what came of it
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.errors import RunError
from clinometer.storage.atomic import only_writer, replacing


class Lines:
    """Rows of an earlier attempt, and the place where new ones go. Without a path all stays in
    memory."""

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self.path, self.settings = path, settings
        self.rows: dict[str, dict[str, Any]] = {}

    @property
    def record_file(self) -> Path:
        assert self.path is not None  # noqa: S101  (for the type checker)
        return self.path.with_suffix(".json")

    @contextlib.contextmanager
    def opened(self, *, fresh: bool = False) -> Iterator[None]:
        """Hold the file, and take what is in it; refuse one that was begun with other settings."""
        if self.path is None:
            yield
            return
        if self.path.suffix != ".jsonl":
            raise RunError(f"{self.path}: expected a file name that ends in .jsonl")
        with only_writer(self.path, self.path.with_name(f".{self.path.name}.lock")):
            if fresh:
                self.path.unlink(missing_ok=True)
                self.record_file.unlink(missing_ok=True)
            self._check_settings()
            self._read()
            yield

    def add(self, row: dict[str, Any]) -> None:
        """One row more; on the disk before it counts."""
        if self.path is not None:
            line = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
            try:
                with self.path.open("a", encoding="utf-8") as stream:
                    stream.write(line)
                    stream.flush()
                    os.fsync(stream.fileno())
            except OSError as error:
                raise RunError(f"{self.path}: cannot be written: {error.strerror}") from error
        self.rows[str(row["id"])] = row

    def finish(self, summary: dict[str, Any]) -> None:
        if self.path is not None:
            self._write_record({"status": "finished", "summary": summary})

    def _write_record(self, more: dict[str, Any]) -> None:
        record = {"schema_version": 1, "settings": self.settings, **more}
        text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text, encoding="utf-8")

    def _check_settings(self) -> None:
        try:
            known = json.loads(self.record_file.read_text(encoding="utf-8"))["settings"]
        except FileNotFoundError:
            if self.path is not None and self.path.exists():
                raise RunError(
                    f"{self.path}: is there already, and not from this command (no "
                    f"{self.record_file.name} beside it): choose another --out, or --fresh"
                ) from None
            self._write_record({"status": "running"})
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{self.record_file}: cannot be read; --fresh starts over") from error
        changed = sorted(k for k in self.settings if known.get(k) != self.settings[k])
        if changed:
            raise RunError(
                f"{self.path}: was begun with another {' and '.join(changed)}; choose another "
                "--out, or --fresh to start over"
            )

    def _read(self) -> None:
        """Whole lines only: what a killed process left half-written is cut off, and done again."""
        assert self.path is not None  # noqa: S101
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self.path.open("r+b") as stream:
                stream.truncate(len(whole))
        for number, line in enumerate(whole.decode("utf-8").splitlines(), start=1):
            try:
                row = json.loads(line)
                self.rows[str(row["id"])] = row
            except (ValueError, KeyError, TypeError) as error:
                raise RunError(
                    f"{self.path}: line {number} is damaged; --fresh starts over"
                ) from error
