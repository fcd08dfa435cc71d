"""Which model a server serves, and what it says of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from clinometer.errors import ModelNotFound
from clinometer.models.client.client import Client
from clinometer.models.client.failures import RequestRefused

_NO_LIST = (404, 405, 501)
"""Statuses of a server that has no list of its models."""

_STABLE = ("owned_by", "root", "meta", "max_model_len", "parent")
"""Fields of the description that are the same from one start of the server to the next."""

_LISTED_IN_ERRORS = 8
"""Models that an error names at most."""


def served_model(client: Client, name: str) -> dict[str, Any]:
    """Return the server's description of the model requested, or of its only one."""
    wanted = client.address.model
    if client.address.provider is not None and wanted:
        return {"id": wanted}  # a provider's list lacks its short names
    try:
        models = client.run(
            client.send("GET", f"{client.address.base}/models", None, _models)
        )
    except RequestRefused as error:
        if error.status not in _NO_LIST or wanted is None:
            raise
        return {"id": wanted}
    model = _match(models, wanted)
    if model is not None:
        return model
    names = [Path(model["id"]).name for model in models[:_LISTED_IN_ERRORS]]
    raise ModelNotFound(
        f"model {name!r}: the server has {', '.join(names) or 'none'}; write openai:URL#MODEL with "
        "one of them"
    )


def _match(models: list[dict[str, Any]], wanted: str | None) -> dict[str, Any] | None:
    """Return the model of this name, or the only one if none is wanted; None if there is none."""
    if wanted is None:
        return models[0] if len(models) == 1 else None
    for model in models:
        if wanted in (model["id"], Path(model["id"]).name):
            return model
    if len(models) == 1 and models[0].get("owned_by") == "llamacpp":
        return models[0]  # llama.cpp serves one model under any name
    return None


def _models(reply: Any) -> list[dict[str, Any]]:
    """Read the list of models."""
    return [_description(model) for model in reply["data"]]


def _description(model: Any) -> dict[str, Any]:
    """Return a model as a server lists it; what should be a number but is not becomes None."""
    description = dict(model, id=str(model["id"]))
    meta = description.get("meta")
    if not isinstance(meta, dict):
        meta = None
    description["meta"] = meta
    _drop_unsound(description, "max_model_len")
    if meta is not None:
        _drop_unsound(meta, "n_ctx")
        _drop_unsound(meta, "n_params")
    return description


def _drop_unsound(fields: dict[str, Any], name: str) -> None:
    """Set a field to None if it is there and no positive whole number."""
    if name not in fields:
        return
    value = fields[name]
    if type(value) is not int or value <= 0:
        fields[name] = None


def digest(served: dict[str, Any]) -> str:
    """Return a digest of the server's description of the model: all we can know of the weights.

    It holds what stays the same from one start of the server to the next.
    """
    stable = {name: served.get(name) for name in _STABLE}
    stable["id"] = Path(served["id"]).name
    text = json.dumps(stable, sort_keys=True)
    return f"server-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
