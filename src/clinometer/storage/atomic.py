"""Files that appear whole or not at all, and one writer at a time: no reader sees half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from clinometer.errors import InputError, RunError


@contextlib.contextmanager
def replacing(path: Path, *, error: type[InputError] = InputError) -> Iterator[Path]:
    """A temporary path beside `path`; what is written to it becomes `path` when the block ends.

    An error inside the block leaves `path` as it was. A folder in its place and a failing disk
    raise `error` with one line.
    """
    if path.is_dir():
        raise error(f"{path}: expected a file to write, found a folder; name a file in it")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield beside
        os.replace(beside, path)  # noqa: PTH105  (atomic on every platform, and says so)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise error(f"{path}: cannot be written: {reason}") from exc
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


@contextlib.contextmanager
def only_writer(path: Path, lock_file: Path) -> Iterator[None]:
    """The right to write `path`, refused while another process has it; it goes with the process."""
    lock = FileLock(lock_file)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(f"{path}: another process is writing it") from error
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written: {error.strerror}; choose another place with --out"
        ) from error
    try:
        yield
    finally:
        lock.release()
