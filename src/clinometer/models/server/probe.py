"""What a server can do, found out by asking it: the first route whose answers are right is taken.

A server that does not know a parameter ignores it as often as it refuses it, so that only numbers
tell. Every route is asked about tokens whose log-probability is known from the plain list of the
most probable tokens, and about one that is far from being among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.errors import ModelError
from clinometer.models.server.client import Missing, RequestRefused
from clinometer.models.server.reply import Listed
from clinometer.models.server.routes import ROUTES, Endpoint, Route
from clinometer.models.tokens.word_trie import Tokens

#: How far two answers of one server to one question may lie apart: caches and batches round.
_AGREEMENT = 0.05
#: How far a list may exceed probability 1: half precision.
_SLACK = 1e-2
#: Numbers of tokens to try, as far as a server allows; llama.cpp has no limit, OpenAI's is 5.
_WIDTHS = (20, 5, 1)


async def choose_route(
    endpoint: Endpoint, path: Tokens, candidates: Sequence[int], *, wanted: str | None
) -> Route:
    """The route asked for, or the first that works; its numbers are checked in both cases.

    `candidates` are tokens that are probably rare after the path: the first that is not listed
    shows whether a server tells more than its list.
    """
    endpoint, top = await _widest(endpoint, path)
    rare = next((t for t in candidates if t not in top.by_id), candidates[0])
    for name in (wanted,) if wanted else ROUTES:
        route = ROUTES[name](endpoint)
        if await _works(route, path, top, rare):
            return route
    raise ModelError(
        f"server {endpoint.client.address.base}: cannot be asked by the route {wanted!r}; without "
        "--route one that works is found"
    )


async def _widest(endpoint: Endpoint, path: Tokens) -> tuple[Endpoint, Listed]:
    """The endpoint with as many tokens a list as it gives, at most those asked for."""
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
        f"server {endpoint.client.address.base}: gives no log-probabilities for a prompt of token "
        f"numbers; --sampled N draws answers instead ({reason})"
    )


def _check_list(endpoint: Endpoint, values: list[float]) -> None:
    """Refuse a list of most probable tokens that cannot be one."""
    total = sum(math.exp(v) for v in values)
    if total > 1 + _SLACK or (len(values) > 2 and len(set(values)) == 1):
        raise ModelError(
            f"server {endpoint.client.address.base}: expected log-probabilities, found "
            f"{len(values)} tokens with a probability of {total:.3g} together, the first with "
            f"{values[0]:.3g}: --sampled N draws answers instead"
        )


async def _works(route: Route, path: Tokens, top: Listed, rare: int) -> bool:
    """Right on tokens of the list, and not silent on the rare one."""
    known = {t: v for t, v in top.by_id.items() if t != rare and math.isfinite(v)}
    tokens = sorted(known, key=lambda t: -known[t])
    tokens = [*tokens[:1], *tokens[1:][-1:]]
    client = route.endpoint.client
    for _ in range(2):  # a broken reply may look like a server that lacks something
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
