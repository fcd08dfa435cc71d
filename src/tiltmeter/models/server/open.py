"""Open a model behind a server: find it, its tokenizer, and the best way to ask it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tiltmeter.errors import ModelNotFound, SettingsError
from tiltmeter.models.base import ModelInfo, Scorer
from tiltmeter.models.chat import chat_opening
from tiltmeter.models.local_tokenizer import local_tokenizer
from tiltmeter.models.options import LoadOptions, WordOptions
from tiltmeter.models.sampled import SampledScorer
from tiltmeter.models.server.address import Address
from tiltmeter.models.server.client import Client, Refused
from tiltmeter.models.server.names import Names
from tiltmeter.models.server.probe import choose_route
from tiltmeter.models.server.routes import Endpoint
from tiltmeter.models.server.sampler import ServerSampler
from tiltmeter.models.server.scorer import ServerScorer
from tiltmeter.models.server.tokenizer import server_tokenizer
from tiltmeter.models.spec import ModelSpec

#: What the probe asks: a beginning with many ends, and words that are probably none of them.
_PROBE = "The weather in the town was"
_RARE = (" eleventh", "}", "@", " Zanzibar", "Q", "7")


def open_server(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Ask the server what it serves and how it can be asked; some ten requests."""
    if words.end_of_word:
        raise SettingsError(
            f"model {spec.name!r}: --end-of-word needs the probability of every token that can end "
            "a word, which no server tells; leave it out"
        )
    client = Client(Address.parse(spec.target), load.server)
    try:
        return _open(spec, client, load=load, words=words)
    except BaseException:
        client.close()
        raise


def _open(spec: ModelSpec, client: Client, *, load: LoadOptions, words: WordOptions) -> Scorer:
    served = _served(client, spec)
    model = str(served["id"])
    info = ModelInfo(
        name=spec.name, kind="server", revision=_digest(served), dtype="served", device="server"
    )
    if load.sampled is not None:
        sampler = ServerSampler(client, model, load)
        return SampledScorer(sampler, info, options=load.sampled, words=words)
    name = load.server.tokenizer
    tokenizer: Any
    if name is not None:
        tokenizer = local_tokenizer(name, load)
    else:
        tokenizer = server_tokenizer(client, model, spec.name)
    chat = chat_opening(tokenizer, load, spec.name, client=client) if load.chat else None
    endpoint = Endpoint(
        client=client,
        url=f"{client.address.base}/completions",
        model=model,
        names=Names(tokenizer),
        top_k=load.server.top_k,
    )
    path = tuple(tokenizer.encode(_PROBE, add_special_tokens=True))
    rare = [tokenizer.encode(word, add_special_tokens=False)[0] for word in _RARE]
    route = client.run(choose_route(endpoint, path, rare, wanted=load.server.route))
    exact = "exact" if route.exact else f"the {route.endpoint.top_k} most probable tokens only"
    how = f"asked by the route {route.name}: {exact}"
    info = ModelInfo(
        name=spec.name,
        kind="server",
        revision=f"{_digest(served)}, {route.name}",
        dtype="served",
        device="server",
        parameters=(served.get("meta") or {}).get("n_params"),
        notes=(how,),
    )
    return ServerScorer(
        route, tokenizer, info, options=words, chat=chat, length_limit=_length_limit(served)
    )


def _served(client: Client, spec: ModelSpec) -> dict[str, Any]:
    """What the server says of the model that is asked for, or of its only one."""

    def read(reply: Any) -> list[dict[str, Any]]:
        return [dict(entry, id=str(entry["id"])) for entry in reply["data"]]

    wanted = client.address.model
    try:
        served = client.run(client.get(f"{client.address.base}/models", read))
    except Refused as error:
        if error.status not in (404, 405, 501) or wanted is None:
            raise
        return {"id": wanted}
    if wanted is None and len(served) == 1:
        return served[0]
    for entry in served:
        if wanted is not None and wanted in (entry["id"], Path(entry["id"]).name):
            return entry
    if wanted is not None and len(served) == 1 and served[0].get("owned_by") == "llamacpp":
        return served[0]  # llama.cpp serves one model under whatever name
    known = ", ".join(Path(e["id"]).name for e in served[:8]) or "none"
    raise ModelNotFound(
        f"model {spec.name!r}: the server has {known}; write openai:URL#MODEL with one of them"
    )


def _digest(served: dict[str, Any]) -> str:
    """What a server lets us know of the weights: everything it says of the model that stays the
    same from one start to the next."""
    stable = {k: served.get(k) for k in ("owned_by", "root", "meta", "max_model_len", "parent")}
    stable["id"] = Path(served["id"]).name
    text = json.dumps(stable, sort_keys=True)
    return f"server-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _length_limit(served: dict[str, Any]) -> int | None:
    limit = (served.get("meta") or {}).get("n_ctx") or served.get("max_model_len")
    return int(limit) - 1 if limit else None
