"""Location and size limit of the cache."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from platformdirs import user_cache_path

from clinometer.errors import SettingsError

#: What this program was called before its first release; what it kept under that name still opens.
FORMER_NAME = "tiltmeter"
LIMIT = "2GB"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def cache_folder() -> Path:
    """The cache folder: $CLINOMETER_CACHE, or the platform's."""
    chosen = os.environ.get("CLINOMETER_CACHE")
    return Path(chosen) if chosen else _adopted(user_cache_path("clinometer"))


def _adopted(folder: Path) -> Path:
    """The folder; one that was kept under the former name is moved there when it is first used."""
    former = folder.with_name(FORMER_NAME)
    if not folder.exists() and former.is_dir():
        with contextlib.suppress(OSError):  # another process was first, or not allowed: start empty
            former.rename(folder)
    return folder


def cache_limit() -> int:
    """The most bytes of scores that are kept: $CLINOMETER_CACHE_LIMIT; 0 switches the cache off."""
    return parse_size(os.environ.get("CLINOMETER_CACHE_LIMIT", LIMIT))


def parse_size(text: str) -> int:
    """Bytes of a size as people write it.

    >>> parse_size("500MB"), parse_size("1.5 GB"), parse_size("0")
    (500000000, 1500000000, 0)
    """
    number = text.strip().upper().rstrip("KMGTB")
    unit = text.strip().upper()[len(number) :]
    try:
        return int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        raise SettingsError(
            f"CLINOMETER_CACHE_LIMIT: expected a size such as 500MB or 2GB, found {text!r}"
        ) from None
