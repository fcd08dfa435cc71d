"""Files that appear whole or not at all: no reader ever sees half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.errors import InputError


@contextlib.contextmanager
def replacing(path: Path, *, error: type[InputError] = InputError) -> Iterator[Path]:
    """A temporary path beside `path`; what is written to it becomes `path` when the block ends.

    An error inside the block leaves `path` as it was. A failing disk raises `error` with one line.
    """
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
