"""Replies as they arrive: a reply that was paid for is on the disk before its cell is complete."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from clinometer.errors import RunError
from clinometer.storage.untrusted import parse_json, read_bytes

MOST_REPLIES = 1 << 30
"""Bytes of the replies of a run."""


class ReplyLog:
    """The replies of one run, by prompt and number.

    Nothing paid for is lost, also before the cell it belongs to is complete. `usage` tells what has
    been used for the replies, and `used` is what an earlier attempt said of it last. `on_reply` is
    called for each that comes.

    One line of JSON each, appended as it comes: [key, number, reply, what the run has used so far],
    and one without a key before each request, with what may come of it. A line that a kill cut off
    is dropped; a finished run needs the file no longer, since its scores hold the texts.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "replies.jsonl"
    >>> log = ReplyLog(file)
    >>> log.put("Is water wet?", 0, "Yes.")
    >>> log.close()
    >>> ReplyLog(file).get("Is water wet?", 0)
    'Yes.'
    """

    def __init__(
        self,
        file: Path,
        usage: Callable[[], dict[str, int]] = dict,
        on_reply: Callable[[], None] = lambda: None,
    ) -> None:
        self.file = file
        self.used: dict[str, int] = {}
        self._usage = usage
        self._on_reply = on_reply
        self._replies: dict[tuple[str, int], Any] = {}
        self._stream: IO[bytes] | None = None
        self._turn = threading.Lock()
        if file.exists():
            self._read()

    def _read(self) -> None:
        try:
            content = read_bytes(self.file, most=MOST_REPLIES)
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
                    self._replies[key, number] = reply
                if used and isinstance(used[0], dict):
                    self.used = self._checked_counts(used[0])

    def _checked_counts(self, used: Mapping[str, Any]) -> dict[str, int]:
        """Return what a line says was used; where that is no count, what was known before."""
        counts = {}
        for name, count in used.items():
            is_count = type(count) is int and 0 <= count < 1 << 63
            counts[name] = count if is_count else self.used.get(name, 0)
        return counts

    def get(self, prompt: str, number: int) -> Any:
        """Return a reply; None if it was not asked for yet."""
        return self._replies.get((_key(prompt), number))

    @property
    def empty(self) -> bool:
        """Return whether no reply has come."""
        return not self._replies

    def put(self, prompt: str, number: int, reply: Any) -> None:
        """Keep a reply: it is in the file when this returns."""
        key = _key(prompt)
        self._replies[key, number] = reply
        self._write(key, number, reply)

    def note(self) -> None:
        """Keep what has been used, before more is: a kill may come."""
        self._write("", 0, None)

    def _write(self, key: str, number: int, reply: Any) -> None:
        line = json.dumps([key, number, reply, self._usage()]).encode() + b"\n"
        with self._turn:
            try:
                if self._stream is None:
                    self.file.parent.mkdir(parents=True, exist_ok=True)
                    self._stream = self.file.open("ab", buffering=0)
                    is_new = self._stream.tell() == 0
                    if not is_new and not self.file.read_bytes().endswith(b"\n"):
                        line = b"\n" + line
                self._stream.write(line)
            except OSError as error:
                raise RunError(
                    f"{self.file}: cannot be written: {error.strerror}"
                ) from error
        self._on_reply()

    def close(self) -> None:
        if self._stream is not None:
            self.note()  # no request is open any more
            self._stream.close()
            self._stream = None


def _key(prompt: str) -> str:
    return hashlib.blake2b(prompt.encode(), digest_size=16).hexdigest()
