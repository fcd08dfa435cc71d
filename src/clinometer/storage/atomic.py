"""Atomic writes and write locks: no reader ever sees half a file."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from clinometer.errors import InputError


@contextlib.contextmanager
def replacing(path: Path, *, error: type[InputError] = InputError) -> Iterator[Path]:
    """A temporary path next to `path`; what is written to it becomes `path` when the block ends.

    An error inside the block leaves `path` as it was, and so does a power cut: the content is on
    the disk before the name is. A folder in its place and a failing disk raise `error` with one
    line.
    """
    if path.is_dir():
        raise error(f"{path}: expected a file to write, found a folder; name a file in it")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield beside
        _to_disk(beside)
        os.replace(beside, path)  # noqa: PTH105  (atomic on every platform, and says so)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise error(f"{path}: cannot be written: {reason}") from exc
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def _to_disk(file: Path) -> None:
    """Without this, some file systems write the new name before the content."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def only_writer(
    path: Path, lock_file: Path, *, error: type[InputError] = InputError
) -> Iterator[None]:
    """Exclusive right to write `path`; raises if another process has it, ends with the process. A
    folder made for the lock goes with it if nothing else was written there."""
    lock = FileLock(lock_file)
    new = not lock_file.parent.exists()
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as exc:
        raise error(f"{path}: another process is writing it; wait for it or stop it") from exc
    except OSError as exc:
        raise error(
            f"{path}: cannot be written: {exc.strerror}; choose another place with --out"
        ) from exc
    try:
        yield
    finally:
        # Removed while it is held: a refused process never gets here, and one that opened the file
        # before it was removed notices (filelock checks that the file it locked still has a name).
        with contextlib.suppress(OSError):
            lock_file.unlink()
            if new:
                lock_file.parent.rmdir()
        lock.release()
