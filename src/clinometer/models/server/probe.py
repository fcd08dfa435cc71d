"""Which route a server can be queried by: found out with a few requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.errors import ModelError
from clinometer.models.client.failures import (
    NO_ACCESS,
    Missing,
    RequestRefused,
    Unsupported,
)
from clinometer.models.server.completions import CompletionEndpoint, TokenList
from clinometer.models.server.question import SLACK, TokenQuestion
from clinometer.models.server.routes import ROUTES, Route
from clinometer.models.tokens import Tokens

_AGREEMENT = 0.05
"""How far two answers to one request may differ: caches and batches change the rounding."""

_WIDTHS = (20, 5, 1)
"""List lengths to try, as far as a server allows; llama.cpp has no limit, OpenAI's is 5."""

_TRIALS = 2
"""How often a route is tried: an invalid reply may look like a missing feature."""


async def choose_route(
    endpoint: CompletionEndpoint,
    path: Tokens,
    candidates: Sequence[int],
    *,
    wanted: str | None,
) -> Route:
    """Return the route requested, or the first that works; its numbers are checked in both cases.

    `candidates` are tokens that are probably rare after the path: the first unlisted one shows
    whether a server returns more than its list.
    """
    endpoint, top = await _widest(endpoint, path)
    unlisted = [token for token in candidates if token not in top.by_id]
    rare = unlisted[0] if unlisted else candidates[0]
    names = [wanted] if wanted else list(ROUTES)
    for name in names:
        route = ROUTES[name](endpoint)
        if await _works(route, path, top, rare):
            return route
    raise ModelError(
        f"{endpoint.client.place}: cannot be queried by the route {wanted!r}; leave "
        "out route= to use one that works"
    )


async def _widest(
    endpoint: CompletionEndpoint, path: Tokens
) -> tuple[CompletionEndpoint, TokenList]:
    """Return the endpoint with lists as long as it returns, at most the length requested.

    With it comes the list that it returned.
    """
    reason = ""
    widths = {min(width, endpoint.top_k) for width in (endpoint.top_k, *_WIDTHS)}
    for width in sorted(widths, reverse=True):
        endpoint.client.probing = True
        try:
            top = await endpoint.top(path, width)
        except Missing as missing:
            reason = str(missing)
            continue
        except RequestRefused as error:
            if error.status in NO_ACCESS:
                raise
            reason = str(error)
            continue
        finally:
            endpoint.client.probing = False
        log_probs = top.log_probs()
        _check_distribution(endpoint, log_probs)
        return replace(endpoint, top_k=min(width, len(log_probs))), top
    raise Unsupported(
        f"{endpoint.client.place}: returns no log-probabilities for a prompt of "
        f"token ids; --replies N samples answers instead ({reason})"
    )


def _check_distribution(endpoint: CompletionEndpoint, log_probs: list[float]) -> None:
    """Refuse a list that is no part of a distribution: too probable together, or all alike."""
    total = sum(math.exp(value) for value in log_probs)
    all_alike = len(log_probs) > 2 and len(set(log_probs)) == 1
    if total > 1 + SLACK or all_alike:
        raise ModelError(
            f"{endpoint.client.place}: expected log-probabilities, found "
            f"{len(log_probs)} tokens with a probability of {total:.3g} together, the first with "
            f"{log_probs[0]:.3g}: --replies N samples answers instead"
        )


async def _works(route: Route, path: Tokens, top: TokenList, rare: int) -> bool:
    """Return whether a route is right on listed tokens and answers for the rare one."""
    listed = {
        token: value
        for token, value in top.by_id.items()
        if token != rare and math.isfinite(value)
    }
    tokens = _most_and_least_probable(listed)
    question = TokenQuestion(path, (*tokens, rare))
    client = route.endpoint.client
    for _ in range(_TRIALS):
        client.probing = True
        try:
            (bounds,) = await route.answer([question])
        except Missing:
            continue
        except RequestRefused:
            return False
        finally:
            client.probing = False
        for token, value in zip(tokens, bounds.upper[:-1], strict=True):
            if not abs(value - listed[token]) < _AGREEMENT:
                return False
        return bool(np.isfinite(bounds.upper[-1]))
    return False


def _most_and_least_probable(log_probs: dict[int, float]) -> list[int]:
    """Return the tokens at both ends of a list; one where they are the same."""
    tokens = sorted(log_probs, key=lambda token: -log_probs[token])
    if len(tokens) <= 1:
        return tokens
    return [tokens[0], tokens[-1]]
