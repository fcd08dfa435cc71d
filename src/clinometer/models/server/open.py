"""Open a model behind a server: find it, its tokenizer, and the best route to query it."""

from __future__ import annotations

from typing import Any

from clinometer.errors import ModelError, SettingsError
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation.chat import chat_opening
from clinometer.models.generation.sampled import SampledScorer
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.server.address import Address
from clinometer.models.server.client import Client
from clinometer.models.server.probe import choose_route
from clinometer.models.server.routes import Endpoint
from clinometer.models.server.sampler import ServerSampler
from clinometer.models.server.scorer import ServerScorer
from clinometer.models.server.served_model import digest, served_model
from clinometer.models.server.token_texts import Names
from clinometer.models.server.tokenizer import server_tokenizer
from clinometer.models.tokens.local_tokenizer import local_tokenizer

#: What the probe sends: a prefix with many continuations, and words that are unlikely ones.
_PROBE = "The weather in the town was"
_RARE = (" eleventh", "}", "@", " Zanzibar", "Q", "7")


def open_server(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Find out what the server serves and which routes work, in about ten requests."""
    if words.end_of_word:
        raise SettingsError(
            f"model {spec.name!r}: --end-of-word needs the probability of every token that can end "
            "a word, which no server returns; leave it out"
        )
    client = Client(Address.parse(spec.target), load.server)
    try:
        return _open(spec, client, load=load, words=words)
    except BaseException:
        client.close()
        raise


def _open(spec: ModelSpec, client: Client, *, load: LoadOptions, words: WordOptions) -> Scorer:
    served = served_model(client, spec.name)
    model = str(served["id"])
    info = ModelInfo(
        name=spec.name, kind="server", revision=digest(served), dtype="served", device="server"
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
    chat = chat_opening(tokenizer, load, spec.name, server=(client, model)) if load.chat else None
    endpoint = Endpoint(
        client=client,
        url=f"{client.address.base}/completions",
        model=model,
        names=Names(tokenizer),
        top_k=load.server.top_k,
    )
    path = tuple(tokenizer.encode(_PROBE, add_special_tokens=True))
    rare = [t for w in _RARE for t in tokenizer.encode(w, add_special_tokens=False)[:1]]
    if not path or not rare:
        raise ModelError(
            f"model {spec.name!r}: its tokenizer gives no tokens for plain words; name the right "
            "one with --tokenizer"
        )
    route = client.run(choose_route(endpoint, path, rare, wanted=load.server.route))
    exact = "exact" if route.exact else f"the {route.endpoint.top_k} most probable tokens only"
    how = f"queried by the route {route.name}: {exact}"
    info = ModelInfo(
        name=spec.name,
        kind="server",
        revision=f"{digest(served)}, {route.name}",
        dtype="served",
        device="server",
        parameters=_parameters(served),
        notes=(how,),
    )
    return ServerScorer(
        route, tokenizer, info, options=words, chat=chat, length_limit=_length_limit(served)
    )


def _parameters(served: dict[str, Any]) -> int | None:
    count = (served.get("meta") or {}).get("n_params")
    return count if isinstance(count, int) and count > 0 else None


def _length_limit(served: dict[str, Any]) -> int | None:
    limit = (served.get("meta") or {}).get("n_ctx") or served.get("max_model_len")
    return int(limit) - 1 if limit else None
