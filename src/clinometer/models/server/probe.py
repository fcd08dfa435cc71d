"""What a server supports, found by trying: the first route with correct answers is used.

Servers ignore unknown parameters as often as they refuse them, so only the numbers are evidence.
Every route is tried on tokens whose log-probability is known from the plain list of the most
probable tokens, and on one far outside that list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.errors import ModelError
from clinometer.models.server.client import Missing, RequestRefused
from clinometer.models.server.reply import Listed
from clinometer.models.server.routes import ROUTES, Endpoint, OllamaEndpoint, Route
from clinometer.models.server.routes.ollama import Ollama
from clinometer.models.tokens.word_trie import Tokens

#: How far two answers to one request may differ: caches and batches change the rounding.
_AGREEMENT = 0.05
#: How far a list may exceed probability 1: half precision.
_SLACK = 1e-2
#: List lengths to try, as far as a server allows; llama.cpp has no limit, OpenAI's is 5.
_WIDTHS = (20, 5, 1)


async def choose_route(
    endpoint: Endpoint, path: Tokens, candidates: Sequence[int], *, wanted: str | None
) -> Route:
    """The route requested, or the first that works; its numbers are checked in both cases.

    `candidates` are tokens that are probably rare after the path: the first unlisted one shows
    whether a server returns more than its list.
    """
    endpoint, top = await _listing(endpoint, path, wanted)
    rare = next((t for t in candidates if t not in top.by_id), candidates[0])
    ollama = isinstance(endpoint, OllamaEndpoint)
    for name in (wanted,) if wanted else (Ollama.name,) if ollama else ROUTES:
        route = ROUTES[name](endpoint)
        if await _works(route, path, top, rare):
            return route
    raise ModelError(
        f"server {endpoint.client.address.base}: cannot be queried by the route {wanted!r}; leave "
        "out --route to use one that works"
    )


async def _listing(endpoint: Endpoint, path: Tokens, wanted: str | None) -> tuple[Endpoint, Listed]:
    """The endpoint that lists probable tokens: the OpenAI-compatible one, or else Ollama's own."""
    native = OllamaEndpoint(**vars(endpoint))
    if wanted == Ollama.name:
        return await _widest(native, path)
    try:
        return await _widest(endpoint, path)
    except ModelError as error:
        if wanted or (isinstance(error, RequestRefused) and error.status in (401, 403)):
            raise
        try:
            return await _widest(native, path)
        except (ModelError, Missing):
            raise error from None


async def _widest(endpoint: Endpoint, path: Tokens) -> tuple[Endpoint, Listed]:
    """The endpoint with lists as long as it returns, at most the length requested."""
    reason = ""
    for k in sorted({endpoint.top_k, *_WIDTHS}, reverse=True):
        if k > endpoint.top_k:
            continue
        endpoint.client.probing = True
        try:
            top = await endpoint.top(path, k)
        except Missing as missing:
            reason = str(missing)
            continue
        except RequestRefused as error:
            if error.status in (401, 403):
                raise
            reason = str(error)
            continue
        finally:
            endpoint.client.probing = False
        _check_list(endpoint, top.values())
        return replace(endpoint, top_k=min(k, len(top.values()))), top
    raise ModelError(
        f"server {endpoint.client.address.base}: returns no log-probabilities for a prompt of "
        f"token ids; --sampled N samples answers instead ({reason})"
    )


def _check_list(endpoint: Endpoint, values: list[float]) -> None:
    """Refuse a list of most probable tokens that cannot be one."""
    total = sum(math.exp(v) for v in values)
    if total > 1 + _SLACK or (len(values) > 2 and len(set(values)) == 1):
        raise ModelError(
            f"server {endpoint.client.address.base}: expected log-probabilities, found "
            f"{len(values)} tokens with a probability of {total:.3g} together, the first with "
            f"{values[0]:.3g}: --sampled N samples answers instead"
        )


async def _works(route: Route, path: Tokens, top: Listed, rare: int) -> bool:
    """Whether a route is right on listed tokens and answers for the rare one."""
    known = {t: v for t, v in top.by_id.items() if t != rare and math.isfinite(v)}
    tokens = sorted(known, key=lambda t: -known[t])
    tokens = [*tokens[:1], *tokens[1:][-1:]]
    client = route.endpoint.client
    for _ in range(2):  # an invalid reply may look like a missing feature
        client.probing = True
        try:
            (found,) = await route.answer([(path, (*tokens, rare))])
        except Missing:
            continue
        except RequestRefused:
            return False
        finally:
            client.probing = False
        agree = [abs(v - known[t]) < _AGREEMENT for t, v in zip(tokens, found.upper, strict=False)]
        return all(agree) and bool(np.isfinite(found.upper[-1]))
    return False
