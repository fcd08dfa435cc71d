"""clinometer doctor: what this machine has, and what each missing thing would enable."""

from __future__ import annotations

import shutil
from datetime import datetime
from typing import Annotated, Any

from clinometer.cli.help import JSON, opt
from clinometer.cli.printing import console, print_json

# --- clinometer doctor: what this machine has, and what each missing thing would enable ----------


def doctor_command(json_output: JSON = False) -> None:
    """Show what is installed, what is missing, and the command that installs it.

    Changes nothing. Always exits with status 0: every missing package is optional.
    """
    from clinometer import __version__
    from clinometer.machine import survey

    found = survey()
    if json_output:
        sections = {name: [f.to_dict() for f in findings] for name, findings in found.items()}
        print_json({"version": __version__, **sections})
        return
    out = console()
    for section, findings in found.items():
        out.print(section, style="bold")
        for finding in findings:
            mark, style = ("✓", "green") if finding else ("–", "yellow")
            out.print(f"  {mark} ", style=style, end="")
            out.print(f"{finding.name:<14}", end="")
            out.print(finding.found or f"missing: {finding.enables}", soft_wrap=True)
            if not finding and finding.command:
                out.print(f"{'':<18}{finding.command}", style="dim", soft_wrap=True)


# --- clinometer cache: scores cached on this machine ---------------------------------------------


def cache_command(
    clear: Annotated[
        bool, opt("Delete all cached scores and unfinished conversions.", "--clear")
    ] = False,
    clear_models: Annotated[bool, opt("Delete converted GGUF models.", "--clear-models")] = False,
    json_output: JSON = False,
) -> None:
    """Show what is cached on this machine, or clear it.

    The cache is in $CLINOMETER_CACHE, or the platform's usual place, and keeps at most
    $CLINOMETER_CACHE_LIMIT of scores (default 2GB; 0 turns it off).
    """
    from clinometer.models.catalog.weights import clear_unfinished
    from clinometer.storage.cache import Cache, cache_limit
    from clinometer.storage.cache_folder import cache_folder

    limit = cache_limit()
    cache = Cache(limit=limit or 1)  # a cache that is turned off can still be inspected
    models = cache_folder() / "models"
    if clear:
        cache.clear()
        clear_unfinished()
    if clear_models:
        shutil.rmtree(models, ignore_errors=True)
    found: dict[str, Any] = {
        "folder": str(cache_folder()),
        "limit_bytes": limit,
        "scores_bytes": cache.size(),
        "models_bytes": sum(f.stat().st_size for f in models.rglob("*") if f.is_file()),
        "scopes": [_row(entry) for entry in cache.scopes()],
    }
    if json_output:
        print_json(found)
        return
    out = console()
    out.print(f"folder: {found['folder']}", soft_wrap=True)
    out.print(f"scores: {_size(found['scores_bytes'])} of at most {_size(limit)}")
    out.print(f"converted models: {_size(found['models_bytes'])}")
    for row in found["scopes"]:
        out.print(
            f"  {row['model']} ({row['dtype']}, {row['revision']}): {row['rows']} prompts × "
            f"{row['words']} words, last used {row['used']}",
            soft_wrap=True,
        )


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    scope = entry["scope"]
    return {
        "model": scope["model"],
        "revision": scope["revision"],
        "dtype": scope["dtype"],
        "words": len(scope["words"]),
        "rows": entry["rows"],
        "used": datetime.fromtimestamp(entry["used"]).astimezone().isoformat(timespec="minutes"),
    }


def _size(size: int) -> str:
    """A readable size.

    >>> _size(0), _size(1_500_000), _size(2_000_000_000)
    ('0.0 MB', '1.5 MB', '2.0 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
