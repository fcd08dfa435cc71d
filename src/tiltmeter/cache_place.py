"""Where tiltmeter keeps what it can make again, and how much of it."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

from tiltmeter.errors import SettingsError

LIMIT = "2GB"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def cache_folder() -> Path:
    """Where tiltmeter keeps what it can make again: $TILTMETER_CACHE, or the platform's place."""
    chosen = os.environ.get("TILTMETER_CACHE")
    return Path(chosen) if chosen else user_cache_path("tiltmeter")


def cache_limit() -> int:
    """The most bytes of scores that are kept: $TILTMETER_CACHE_LIMIT; 0 switches the cache off."""
    return parse_size(os.environ.get("TILTMETER_CACHE_LIMIT", LIMIT))


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
            f"TILTMETER_CACHE_LIMIT: expected a size such as 500MB or 2GB, found {text!r}"
        ) from None
