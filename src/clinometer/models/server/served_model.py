"""Which model a server serves, as it reports it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from clinometer.errors import ModelNotFound
from clinometer.models.server.client import Client, RequestRefused


def served_model(client: Client, name: str) -> dict[str, Any]:
    """The server's description of the model requested, or of its only one."""

    def read(reply: Any) -> list[dict[str, Any]]:
        return [_entry(entry) for entry in reply["data"]]

    wanted = client.address.model
    try:
        served = client.run(client.get(f"{client.address.base}/models", read))
    except RequestRefused as error:
        if error.status not in (404, 405, 501) or wanted is None:
            raise
        return {"id": wanted}
    if wanted is None and len(served) == 1:
        return served[0]
    for entry in served:
        if wanted is not None and wanted in (entry["id"], Path(entry["id"]).name):
            return entry
    if wanted is not None and len(served) == 1 and served[0].get("owned_by") == "llamacpp":
        return served[0]  # llama.cpp serves one model under any name
    known = ", ".join(Path(e["id"]).name for e in served[:8]) or "none"
    raise ModelNotFound(
        f"model {name!r}: the server has {known}; write openai:URL#MODEL with one of them"
    )


def _entry(plain: Any) -> dict[str, Any]:
    """A model as a server lists it; fields that should be numbers but are not are left out."""
    entry = dict(plain, id=str(plain["id"]))
    meta = entry.get("meta")
    entry["meta"] = meta if isinstance(meta, dict) else None
    for holder, name in ((entry, "max_model_len"), (entry["meta"] or {}, "n_ctx")):
        if name in holder and not _is_count(holder[name]):
            holder[name] = None
    return entry


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def digest(served: dict[str, Any]) -> str:
    """A digest of the server's description of the model, as far as it stays the same from one
    start to the next: all that we can know about the weights."""
    stable = {k: served.get(k) for k in ("owned_by", "root", "meta", "max_model_len", "parent")}
    stable["id"] = Path(served["id"]).name
    text = json.dumps(stable, sort_keys=True)
    return f"server-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
