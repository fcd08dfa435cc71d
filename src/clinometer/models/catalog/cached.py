"""What is cached on this machine: scores, and models that were converted."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from clinometer.storage.atomic import cache_folder
from clinometer.storage.cache import Cache, cache_limit


@dataclass(frozen=True)
class CachedScores:
    """Scores of one model that are cached."""

    model: str
    revision: str
    dtype: str
    words: int
    rows: int
    """Prompts whose words are scored."""

    used: str
    """When they were used last, to the minute, in local time."""


@dataclass(frozen=True)
class CacheReport:
    """The cache of this machine, and how much it holds."""

    folder: str
    limit_bytes: int
    scores_bytes: int
    models_bytes: int
    scopes: list[CachedScores]
    """Scores by model, most recently used first."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def read_cache(*, clear: bool = False) -> CacheReport:
    """Return what is cached on this machine, after it was cleared if that is asked."""
    limit = cache_limit()
    # A cache that is turned off can still be inspected.
    cache = Cache(limit=limit or 1)
    models = cache_folder() / "models"
    if clear:
        cache.clear()
        shutil.rmtree(models, ignore_errors=True)
    return CacheReport(
        folder=str(cache_folder()),
        limit_bytes=limit,
        scores_bytes=cache.size(),
        models_bytes=sum(f.stat().st_size for f in models.rglob("*") if f.is_file()),
        scopes=[_cached_scores(entry) for entry in cache.scopes()],
    )


def _cached_scores(entry: dict[str, Any]) -> CachedScores:
    scope = entry["scope"]
    used = datetime.fromtimestamp(entry["used"]).astimezone()
    return CachedScores(
        model=scope["model"],
        revision=scope["revision"],
        dtype=scope["dtype"],
        words=len(scope["words"]),
        rows=entry["rows"],
        used=used.isoformat(timespec="minutes"),
    )
