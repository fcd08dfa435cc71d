"""clinometer doctor: what is installed, missing and cached on this machine."""

from __future__ import annotations

from clinometer import __version__
from clinometer.cli.options import JSON
from clinometer.cli.printing import print_json, sentence
from clinometer.models.catalog.cached import CacheReport, read_cache
from clinometer.models.catalog.provisions import Provision, survey
from clinometer.settings import option


def doctor_command(
    clear_cache: bool = option(
        False, help="Delete what is cached here: scores, converted GGUF models."
    ),
    json_output: bool = JSON,
) -> None:
    """Show what is installed, what is missing, and the command that installs it.

    Also what is cached on this machine: in $CLINOMETER_CACHE, or the platform's usual place, at
    most $CLINOMETER_CACHE_LIMIT of scores (default 2GB; 0 turns it off). Always exits with status
    0: every missing package is optional.
    """
    sections = survey()
    cache = read_cache(clear=clear_cache)
    if json_output:
        content = {
            section: [provision.to_dict() for provision in provisions]
            for section, provisions in sections.items()
        }
        print_json({"version": __version__, **content, "cache": cache.to_dict()})
        return
    for section, provisions in sections.items():
        sentence(section, style="bold")
        for provision in provisions:
            _print_provision(provision)
    sentence("cache", style="bold")
    _print_cache(cache)


def _print_provision(provision: Provision) -> None:
    if provision:
        sentence(f"✓ {provision.name}: {provision.evidence}", indent="  ")
        return
    sentence(f"– {provision.name}: missing: {provision.enables}", indent="  ")
    if provision.command:
        sentence(provision.command, indent="      ", style="dim")


def _print_cache(cache: CacheReport) -> None:
    sentence(cache.folder, indent="  ")
    scores = f"scores {_size(cache.scores_bytes)} of at most {_size(cache.limit_bytes)}"
    sentence(scores, indent="  ")
    sentence(f"converted models {_size(cache.models_bytes)}", indent="  ")
    for scores_of in cache.scopes:
        sentence(
            f"{scores_of.model} ({scores_of.dtype}, {scores_of.revision}): {scores_of.rows} "
            f"prompts × {scores_of.words} words, last used {scores_of.used}",
            indent="  ",
        )


def _size(size: int) -> str:
    """Return a readable size.

    >>> _size(0), _size(1_500_000), _size(2_000_000_000)
    ('0.0 MB', '1.5 MB', '2.0 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
