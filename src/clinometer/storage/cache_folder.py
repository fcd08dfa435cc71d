"""Where this machine keeps what is expensive to compute again."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """The cache folder: $CLINOMETER_CACHE, or the platform's."""
    chosen = os.environ.get("CLINOMETER_CACHE")
    return Path(chosen) if chosen else user_cache_path("clinometer")
