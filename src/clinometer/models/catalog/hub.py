"""The Hugging Face hub: whether it can be reached, and what this machine has cached from it.

The hub's own client tries an unreachable host six times for every file, which makes a mistyped
name cost half a minute behind a closed network. One quick connection test decides instead.
"""

from __future__ import annotations

import os
import socket
import urllib.parse
import urllib.request
from pathlib import Path

_PATIENCE_S = 3.0
_WEIGHTS = (".safetensors", ".bin")


def hub_reachable() -> bool:
    """Whether the hub can be reached; behind a proxy only the proxy knows, so assume it can."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE", "") in {"1", "true", "True"}:
        return False
    if urllib.request.getproxies().get("https"):
        return True
    address = urllib.parse.urlsplit(constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=_PATIENCE_S).close()
    except OSError:
        return False
    return True


def cached(model: str) -> bool:
    """Whether a hub model's configuration and weights are in the local cache."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return False
    config = try_to_load_from_cache(model, "config.json")
    if not isinstance(config, str):
        return False
    return any(file.suffix in _WEIGHTS for file in Path(config).parent.iterdir())
