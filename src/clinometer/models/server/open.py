"""Which way a model behind a server is asked: by words, by first tokens, or by sampled replies."""

from __future__ import annotations

from dataclasses import replace

from clinometer.errors import ModelError, ModelNotFound
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client.address import Address
from clinometer.models.client.client import Client
from clinometer.models.client.failures import Unsupported
from clinometer.models.options import QUESTION, LoadOptions, WordOptions
from clinometer.models.prices import price_of
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.server.chat import ChatEndpoint
from clinometer.models.server.first_tokens import ChatTokenScorer
from clinometer.models.server.sampler import ServerSampler
from clinometer.models.server.served import digest, served_model
from clinometer.models.server.words import open_by_words


def open_server(
    spec: ModelSpec,
    *,
    load: LoadOptions,
    words: WordOptions,
    beside: Client | None = None,
) -> Scorer:
    """Find out what the server serves and which routes work, in about ten requests.

    They count in the limits of the client `beside` it.
    """
    price = price_of(spec.target, load.server.price)
    address = Address.parse(spec.target)
    client = Client(address, load.server, price, beside=beside)
    if price is not None:
        usage = load.begun.get("usage", {})
        client.meter.paid_before = price.of(
            usage.get("tokens_read", 0), usage.get("tokens_written", 0)
        )
    try:
        return _open(spec, client, load=load, words=words)
    except BaseException:
        client.close()
        raise


def _open(
    spec: ModelSpec, client: Client, *, load: LoadOptions, words: WordOptions
) -> Scorer:
    """Open the model in the first way that works and that the options allow."""
    served = served_model(client, spec.name)
    info = ModelInfo(
        spec.name, "server", digest(served), dtype="served", device="server"
    )
    earlier = load.begun.get("request")
    endpoint = ChatEndpoint(client, str(served["id"]), earlier)
    hosted = client.address.provider is not None
    sampled = load.sampled
    if sampled is not None and not sampled.automatic:
        return ServerSampler(endpoint, info, load, sampled, chat=load.chat or hosted)
    went_on_to_chat = sampled is not None and "request" in load.begun
    if not hosted and not went_on_to_chat:
        try:
            return open_by_words(spec, client, served, info, load=load, words=words)
        except (Unsupported, ModelNotFound):
            server = load.server
            wanted = server.tokenizer is not None or server.route is not None
            if sampled is None or wanted:
                raise
    return _open_chat(endpoint, info, load)


def _open_chat(endpoint: ChatEndpoint, info: ModelInfo, load: LoadOptions) -> Scorer:
    """Open a model by the first tokens that its chat endpoint lists, or else by sampling."""
    info = replace(info, revision=f"{info.revision}, chat")
    if endpoint.lists_tokens():
        return ChatTokenScorer(endpoint, info, question=load.chat_request == QUESTION)
    if load.sampled is None:
        raise ModelError(
            f"{info.name}: lists no log-probabilities; --replies N samples instead"
        )
    return ServerSampler(endpoint, info, load, load.sampled, chat=True)
