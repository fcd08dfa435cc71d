"""Atomic writes and write locks: no reader ever sees half a file; and where caches lie."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from clinometer.errors import InputError

FILE_STARTS = (
    b"<!doctype html",
    b"<svg",
    b"\x89png",
    b"\x89hdf",
    b"cdf",
    b"par1",
    b"\x1f\x8b",
    b"{",
    b"#",
    b"|",
    b"%",
    b"\\",
    b"---",
)
"""The first bytes by which a kind of file is recognised; a table is known by its first column."""

RUN_SUFFIXES = {".json", ".jsonl", ".parquet"}
"""Endings of the files that a run folder consists of."""


@contextlib.contextmanager
def replacing(path: Path, *, error: type[InputError] = InputError) -> Iterator[Path]:
    """Yield a temporary path next to `path`; what is written there becomes `path` at the end.

    An error inside the block leaves `path` as it was, and so does a power cut: the content is on
    the disk before the name is. A folder in its place and a failing disk raise `error` with one
    line.
    """
    if path.is_dir():
        raise error(
            f"{path}: expected a file to write, found a folder; name a file in it"
        )
    suffix = f"{os.getpid()}-{secrets.token_hex(4)}.tmp"
    temporary = path.with_name(f".{path.name}.{suffix}")
    try:
        yield temporary
        # Synchronised first: some file systems would otherwise write the new name first.
        with temporary.open("r+b") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)  # noqa: PTH105  (atomic on every platform, and says so)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise error(f"{path}: cannot be written: {reason}") from exc
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def output_file(path: Path, *, error: type[InputError] = InputError) -> Iterator[Path]:
    """Yield a temporary path like `replacing`, for a file that the user named with --out.

    A pipe or a device is written to and a link is followed; neither is replaced. A file of a run
    folder, or one that this program would not write, is kept: it may have been named by mistake.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            content = Path(folder) / f"content{path.suffix}"
            yield content
            try:
                with path.open("wb") as sink:
                    sink.write(content.read_bytes())
            except OSError as exc:
                reason = exc.strerror or exc
                raise error(f"{path}: cannot be written: {reason}") from exc
        return
    target = path.resolve() if path.is_symlink() else path
    if _is_of_a_run(target):
        raise error(
            f"{path}: is a file of a run folder, which would be lost; name another file"
        )
    _clear_stale(target)
    with replacing(target, error=error) as temporary:
        yield temporary
        has_content = target.is_file() and target.stat().st_size > 0
        if has_content and _kind(target) != _kind(temporary):
            raise error(
                f"{path}: exists, and is not what this command writes; delete it, or name another "
                "file"
            )


def _is_of_a_run(target: Path) -> bool:
    """Return whether a file exists and lies in a run folder, up to three levels deep."""
    if target.suffix not in RUN_SUFFIXES or not target.is_file():
        return False
    folders = target.absolute().parents[:3]
    return any((folder / "run.json").is_file() for folder in folders)


def _clear_stale(target: Path) -> None:
    """Remove the temporary files that writers of the same file left when they were killed."""
    for stale in target.parent.glob(f".{glob.escape(target.name)}.*-*.tmp"):
        suffix = stale.name.rpartition(".tmp")[0].rpartition(".")[2]
        process = suffix.partition("-")[0]
        with contextlib.suppress(OSError, ValueError):
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                stale.unlink()


def _kind(file: Path) -> bytes:
    """Return what tells the kind of a file: its first bytes, or the first column of a table."""
    with file.open("rb") as stream:
        head = stream.read(200).removeprefix(b"\xef\xbb\xbf").lower()
    for start in FILE_STARTS:
        if head.startswith(start):
            return start
    return head.split(b"\n")[0].split(b",")[0]


@contextlib.contextmanager
def only_writer(
    path: Path, lock_file: Path, *, error: type[InputError] = InputError
) -> Iterator[None]:
    """Hold the exclusive right to write `path`; raise if another process has it.

    The right ends with the process. A folder made for the lock goes with it if nothing else was
    written there.
    """
    lock = FileLock(lock_file)
    is_new_folder = not lock_file.parent.exists()
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as exc:
        raise error(
            f"{path}: another process is writing it; wait for it or stop it"
        ) from exc
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
            if is_new_folder:
                lock_file.parent.rmdir()
        lock.release()


def cache_folder() -> Path:
    """Return where this machine keeps what is expensive to compute again.

    It is $CLINOMETER_CACHE, or the platform's folder.
    """
    chosen = os.environ.get("CLINOMETER_CACHE")
    return Path(chosen) if chosen else user_cache_path("clinometer")
