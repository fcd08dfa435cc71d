"""Work that survives a kill: begun or resumed by the same command, stored as it comes.

Audits, reliability runs, mining and .jsonl files of statements differ in what they store. What they
share is here: one process writes; work begun with other settings is refused, and the error names
what differs; results reach the disk as they come; the same command resumes after a kill; and what
it was begun with stands in a record with a schema.

Schema version 1 is the only one so far. A key that this program does not know, because a later one
added it, is kept and written back. A change that an older program would misread needs a new version
and, in `ResultFolder.read_record`, a step that brings older content up to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinometer.errors import InputError, RunError, first_problem
from clinometer.storage.atomic import only_writer, replacing
from clinometer.storage.untrusted import parse_json, read_bytes, read_json

Result = TypeVar("Result")
#: All that makes it another piece of work, by the names that an error shows.
Identity = Mapping[str, Any]
#: Called with (done, total) as work proceeds.
Progress = Callable[[int, int], None]

#: Seconds between two writes of scores: what a kill may cost beyond those being computed.
FLUSH_S = 1.0
#: A longer value is not shown in an error.
_SHORT = 30


class Resumable(ABC):
    """What a command stores while it works, for what its user knows as `path`."""

    path: Path
    lock_file: Path
    error: ClassVar[type[InputError]] = RunError

    @abstractmethod
    def earlier(self) -> Identity | None:
        """What an earlier attempt was begun with; None if there was none."""

    @abstractmethod
    def begin(self, identity: Identity) -> None:
        """Make room for a first attempt. Results without a record have no owner."""

    @abstractmethod
    def clear(self) -> None:
        """Remove what earlier attempts stored, and nothing else."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from writing."""
        with only_writer(self.path, self.lock_file, error=self.error):
            yield

    @contextmanager
    def opened(self, identity: Identity, *, fresh: bool = False) -> Iterator[None]:
        """Begin, or resume what was begun with the same identity; `fresh` starts over."""
        with self.locked():
            self.resume(identity, None if fresh else self.earlier(), fresh=fresh)
            yield

    def resume(
        self, identity: Identity, before: Identity | None, *, fresh: bool = False
    ) -> None:
        """Begin where there is nothing from before, or what was is removed (`fresh`); refuse to go
        on with another identity."""
        if fresh:
            self.clear()
        if fresh or before is None:
            self.begin(identity)
        elif changed := differences(before, identity):
            raise self.error(
                f"{self.path}: was begun with other settings: {', '.join(changed)}; choose "
                "another --out, or --fresh to start over"
            )


class Recorded(Resumable):
    """Work whose record, a JSON file, says from the start what it was begun with."""

    record_file: Path

    def earlier(self) -> Identity | None:
        try:
            return dict(read_json(self.record_file)["settings"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(
                f"{self.record_file}: cannot be read; --fresh starts over"
            ) from error

    def write_record(self, settings: Identity, **more: Any) -> None:
        """What it was begun with, and what is known since."""
        record = {"schema_version": SCHEMA_VERSION, "settings": dict(settings), **more}
        text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        with replacing(self.record_file, error=RunError) as beside:
            beside.write_text(text, encoding="utf-8")


def differences(before: Identity, now: Identity) -> list[str]:
    """What differs, by name, with values that are short.

    >>> differences({"seed": 0, "sha256": "0" * 64}, {"seed": 1, "sha256": "1" * 64})
    ['seed (0, now 1)', 'sha256']
    """
    found = []
    for name in dict.fromkeys([*now, *before]):
        old, new = before.get(name), now.get(name)
        if old != new:
            values = f" ({old!r}, now {new!r})"
            found.append(name + (values if len(values) <= 2 * _SHORT else ""))
    return found


def store_as_they_come(
    results: Iterable[Result],
    store: Callable[[list[Result]], None],
    *,
    done: int,
    total: int,
    progress: Progress | None,
    size: Callable[[Result], int] = lambda _: 1,
    every_s: float = 0.0,
) -> None:
    """Store the first result at once, then those that came in every `every_s` seconds, and at the
    end what is left, even after a failure. `size` is what a result counts for in the total."""
    waiting: list[Result] = []
    due = time.monotonic()

    def flush() -> None:
        came, waiting[:] = waiting[:], []
        if came:
            store(came)

    if progress:
        progress(done, total)
    try:
        for result in results:
            waiting.append(result)
            if time.monotonic() >= due:
                flush()
                due = time.monotonic() + every_s
            done += size(result)
            if progress:
                progress(done, total)
    finally:
        flush()


def part_of(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Progress of one of several equal parts, reported as progress of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, parts * total)


# --- Records --------------------------------------------------------------------------------------


SCHEMA_VERSION = 1


class RecordPart(BaseModel):
    """An object in a run.json. Nothing is converted: a text is not a number."""

    model_config = ConfigDict(
        strict=True, extra="allow", validate_by_name=True, frozen=True
    )

    @classmethod
    def from_json(
        cls, text: str | bytes, file: Path, *, error: type[InputError] = RunError
    ) -> Self:
        """Check the content of `file`; what is wrong is named by its place in it."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            raise error(f"{file}: damaged: {first_problem(exc)}") from exc

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what was given, also where it is the default, and nothing else."""
        found: dict[str, Any] = _noted(
            self.model_dump(by_alias=True, exclude_unset=True)
        )
        return found


class ModelRecord(RecordPart):
    """A model as a run remembers it: the fields of `ModelInfo`, with its name as `id`."""

    id: str
    kind: str
    revision: str
    dtype: str = "float64"
    device: str = "cpu"
    parameters: int | None = None
    notes: list[str] = Field(default_factory=list)
    request: dict[str, Any] = Field(default_factory=dict)

    def check_same(self, now: ModelRecord) -> None:
        """Refuse to resume with other weights, or in another precision, than a run began with."""
        for what in ("revision", "kind", "dtype"):
            begun, found = getattr(self, what), getattr(now, what)
            if begun != found:
                raise RunError(
                    f"the run was begun with {what} {begun} of {now.id}, found {found} now: "
                    "--fresh starts over, another --out keeps both"
                )


class FolderRecord(RecordPart, ABC):
    """The content of a run.json; each command adds its own fields.

    kind     the command, for all but audits
    status   "running" or "finished"
    tables   digests of the tables that belong to a finished run
    """

    model_config = ConfigDict(
        frozen=False
    )  # it grows with its run; its parts are replaced whole

    schema_version: int = SCHEMA_VERSION
    kind: str | None = None
    status: str = "running"
    created: str = ""
    tables: dict[str, str] = Field(default_factory=dict)
    updated: str = ""

    @property
    def finished(self) -> bool:
        return self.status == "finished"

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What makes it another run, by the names that an error shows."""


def _noted(value: Any) -> Any:
    """The same without the empty notes of estimates: only some have one."""
    if isinstance(value, dict):
        return {
            k: _noted(v) for k, v in value.items() if not (k == "note" and v is None)
        }
    return [_noted(v) for v in value] if isinstance(value, list | tuple) else value


# --- A .jsonl file that grows by one statement at a time ------------------------------------------


Row = dict[str, Any]


class Lines(Recorded):
    """Rows of an earlier attempt, and where new ones go. Without a path all stays in memory.

    NAME.jsonl   one row per statement, written when it is done
    NAME.json    the settings it was begun with and, at the end, a summary
    """

    def __init__(self, path: str | Path | None, settings: Identity) -> None:
        self.stored, self.path, self.settings = (
            path is not None,
            Path(path or ".jsonl"),
            settings,
        )
        self.record_file = self.path.with_suffix(".json")
        self.lock_file = self.path.with_name(f".{self.path.name}.lock")
        self.rows: dict[str, Row] = {}

    @contextmanager
    def resumed(self, *, fresh: bool = False) -> Iterator[Self]:
        """Begin the file, or take what is in it if it was begun with the same settings."""
        if not self.stored:
            yield self
            return
        if self.path.suffix != ".jsonl":
            raise RunError(f"{self.path}: expected a file name that ends in .jsonl")
        with self.opened(self.settings, fresh=fresh):
            self._read()
            yield self

    def take(
        self, rows: Iterable[Row], ids: Sequence[str], progress: Progress | None
    ) -> list[Row]:
        """Store new rows as they come; all rows, in the order of `ids`."""
        done = sum(name in self.rows for name in ids)
        store_as_they_come(
            rows, self._add, done=done, total=len(ids), progress=progress
        )
        return [self.rows[name] for name in ids]

    def forget(self, ids: Iterable[str]) -> None:
        """Remove rows, so that they are made again: what they were made from has changed."""
        gone = set(ids) & self.rows.keys()
        if not gone:
            return
        for name in gone:
            del self.rows[name]
        if self.stored:
            with replacing(self.path, error=RunError) as beside:
                beside.write_text(
                    "".join(map(_line, self.rows.values())), encoding="utf-8"
                )

    def finish(self, summary: dict[str, Any]) -> None:
        if self.stored:
            self.write_record(self.settings, status="finished", summary=summary)

    def begin(self, identity: Identity) -> None:
        if self.path.exists():
            raise RunError(
                f"{self.path}: exists, and is not from this command (no {self.record_file.name} "
                "beside it); choose another --out, or --fresh to overwrite it"
            )
        self.write_record(self.settings, status="running")

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)
        self.record_file.unlink(missing_ok=True)

    def _add(self, rows: Sequence[Row]) -> None:
        """New rows; on the disk before they count."""
        if self.stored:
            text = "".join(map(_line, rows))
            try:
                with self.path.open("a", encoding="utf-8") as stream:
                    stream.write(text)
                    stream.flush()
                    os.fsync(stream.fileno())
            except OSError as error:
                raise RunError(
                    f"{self.path}: cannot be written: {error.strerror}"
                ) from error
        self.rows.update((str(row["id"]), row) for row in rows)

    def _read(self) -> None:
        """Keep whole lines only: a line half-written by a killed process is removed and redone."""
        if not self.path.exists():
            return
        data = read_bytes(self.path)
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self.path.open("r+b") as stream:
                stream.truncate(len(whole))
        # Bytes are cut at line feeds alone, texts also at characters that JSON leaves as they are.
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                row = parse_json(line)
                self.rows[str(row["id"])] = row
            except (ValueError, KeyError, TypeError) as error:
                raise RunError(
                    f"{self.path}: line {number} is damaged; --fresh starts over"
                ) from error


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


# --- Replies as they arrive -----------------------------------------------------------------------


#: Bytes of the replies of a run.
_MOST_REPLIES = 1 << 30


class ReplyLog:
    """The replies of one run, by prompt and number: nothing paid for is lost, also before the cell
    they belong to is complete. `usage` tells what has been used for them, and `used` is what an
    earlier attempt said of it last. `heard` is called for each that comes.

    One line of JSON each, appended as it comes: [key, number, reply, what the run has used so far],
    and one without a key before each request, with what may come of it. A line that a kill cut off
    is dropped; a finished run needs the file no longer, since its scores hold the texts.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "replies.jsonl"
    >>> with_one = ReplyLog(file)
    >>> with_one.put("Is water wet?", 0, "Yes.")
    >>> with_one.close()
    >>> ReplyLog(file).get("Is water wet?", 0)
    'Yes.'
    """

    def __init__(
        self,
        file: Path,
        usage: Callable[[], dict[str, int]] = dict,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        self.file, self._usage, self._heard = file, usage, heard
        self.used: dict[str, int] = {}
        self._found: dict[tuple[str, int], Any] = {}
        self._stream: IO[bytes] | None = None
        self._turn = threading.Lock()
        if file.exists():
            self._read()

    def _read(self) -> None:
        try:
            content = read_bytes(self.file, most=_MOST_REPLIES)
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.file}: cannot be read; --fresh starts over"
            ) from error
        for line in content.splitlines():
            try:
                key, number, reply, *used = parse_json(line)
            except (ValueError, TypeError):
                continue
            if isinstance(key, str) and isinstance(number, int):
                if key:
                    self._found[key, number] = reply
                if used and isinstance(used[0], dict):
                    self.used = {  # what is no count leaves what was known before
                        name: n
                        if type(n) is int and 0 <= n < 1 << 63
                        else self.used.get(name, 0)
                        for name, n in used[0].items()
                    }

    def get(self, prompt: str, number: int) -> Any:
        """A reply; None if it was not asked for yet."""
        return self._found.get((_key(prompt), number))

    @property
    def empty(self) -> bool:
        """Whether no reply has come."""
        return not self._found

    def put(self, prompt: str, number: int, reply: Any) -> None:
        """Keep a reply: it is in the file when this returns."""
        key = _key(prompt)
        self._found[key, number] = reply
        self._write(key, number, reply)

    def note(self) -> None:
        """Keep what has been used, before more is: a kill may come."""
        self._write("", 0, None)

    def _write(self, *what: Any) -> None:
        line = json.dumps([*what, self._usage()]).encode() + b"\n"
        with self._turn:
            try:
                if self._stream is None:
                    self.file.parent.mkdir(parents=True, exist_ok=True)
                    self._stream = self.file.open("ab", buffering=0)
                    if self._stream.tell() and not self.file.read_bytes().endswith(
                        b"\n"
                    ):
                        line = b"\n" + line
                self._stream.write(line)
            except OSError as error:
                raise RunError(
                    f"{self.file}: cannot be written: {error.strerror}"
                ) from error
        self._heard()

    def close(self) -> None:
        if self._stream is not None:
            self.note()  # nothing is on its way any more
            self._stream.close()
            self._stream = None


def _key(prompt: str) -> str:
    return hashlib.blake2b(prompt.encode(), digest_size=16).hexdigest()
