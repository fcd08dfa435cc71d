"""Replies as they arrive, before the cell they belong to is complete: nothing paid for is lost.

One line of JSON each, appended as it comes: [key, number, reply, what the run has used so far], and
one without a key before each request, with what may come of it. A line that a kill cut off is
dropped; a run that is finished needs the file no longer, since its scores hold the texts.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from clinometer.errors import RunError
from clinometer.storage.untrusted import parse_json, read_bytes

_MOST = 1 << 30


class ReplyLog:
    """The replies of one run, by prompt and number; `usage` tells what has been used for them, and
    `used` is what an earlier attempt said of it last. `heard` is called for each that comes.

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
            content = read_bytes(self.file, most=_MOST)
        except (OSError, ValueError) as error:
            raise RunError(f"{self.file}: cannot be read; --fresh starts over") from error
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
                        name: n if type(n) is int and 0 <= n < 1 << 63 else self.used.get(name, 0)
                        for name, n in used[0].items()
                    }

    def get(self, prompt: str, number: int) -> Any:
        """A reply; None if it was not asked for yet."""
        return self._found.get((_key(prompt), number))

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
                    if self._stream.tell() and not self.file.read_bytes().endswith(b"\n"):
                        line = b"\n" + line
                self._stream.write(line)
            except OSError as error:
                raise RunError(f"{self.file}: cannot be written: {error.strerror}") from error
        self._heard()

    def close(self) -> None:
        if self._stream is not None:
            self.note()  # nothing is on its way any more
            self._stream.close()
            self._stream = None


def _key(prompt: str) -> str:
    return hashlib.blake2b(prompt.encode(), digest_size=16).hexdigest()
