"""Routes: ways to ask a server for the probabilities of chosen tokens after a path of tokens.

Servers differ in what they return, so there is a route for each way, tried in this order:

token-ids   the server looks up the wanted tokens (vLLM)
boost       a bias lifts the wanted tokens into the list of the most probable (llama.cpp)
top-k       only the most probable tokens: bounds for all others
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from clinometer.models.client.failures import Missing, WrongReply
from clinometer.models.event_loop import together
from clinometer.models.server.completions import CompletionEndpoint, required
from clinometer.models.server.question import ROUNDING, Bounds, TokenQuestion
from clinometer.models.tokens import Tokens


class Route(ABC):
    """One way to query a server."""

    name: ClassVar[str]
    exact: ClassVar[bool] = True

    def __init__(self, endpoint: CompletionEndpoint) -> None:
        self.endpoint = endpoint

    async def answer(self, questions: Sequence[TokenQuestion]) -> list[Bounds]:
        """Return the bounds of the wanted tokens of each question."""
        tokens = {token for question in questions for token in question.wanted}
        await self.endpoint.token_texts.load(list(tokens))
        work = [self.answer_one(q.path, q.wanted) for q in questions]
        return await together(work)

    @abstractmethod
    async def answer_one(self, path: Tokens, wanted: Tokens) -> Bounds:
        """Return the bounds of the wanted tokens after one path."""


class TokenIds(Route):
    """The server looks up the wanted tokens itself."""

    name = "token-ids"

    _MOST_TOKENS = 128
    """vLLM's own limit."""

    async def answer_one(self, path: Tokens, wanted: Tokens) -> Bounds:
        work = [
            self.endpoint.log_probs(
                path,
                part,
                logprob_token_ids=list(part),
                logprobs=1,
                return_tokens_as_token_ids=True,
                temperature=0.0,
            )
            for part in _parts(wanted, self._MOST_TOKENS)
        ]
        log_probs: list[float] = []
        for values in await together(work):
            log_probs.extend(values)
        return Bounds.exact(log_probs)


class Boost(Route):
    """Tokens among the k most probable are read from that list. The others are lifted together with
    the most probable one, whose value is known: p(t) = p(known) · p'(t) / p'(known)."""

    name = "boost"

    _BIAS = 100.0
    """Lifts a token above all others: the maximum in OpenAI's API."""

    async def answer_one(self, path: Tokens, wanted: Tokens) -> Bounds:
        top = await self.endpoint.top(path, self.endpoint.top_k)
        log_probs = {token: self.endpoint.look_up(top, token) for token in wanted}
        unlisted = [token for token, value in log_probs.items() if value is None]
        if unlisted:
            if not top.by_id:
                raise Missing("no token whose number is known")
            reference = max(top.by_id, key=lambda token: top.by_id[token])
            await self.endpoint.token_texts.load([reference])
            room = max(1, self.endpoint.top_k - 1)
            work = [
                self._lifted(path, reference, part) for part in _parts(unlisted, room)
            ]
            for log_ratios in await together(work):
                for token, log_ratio in log_ratios.items():
                    log_probs[token] = top.by_id[reference] + log_ratio
        return Bounds.exact([required(log_probs[token]) for token in wanted])

    async def _lifted(
        self, path: Tokens, reference: int, tokens: Sequence[int]
    ) -> dict[int, float]:
        """Return log p(t) - log p(reference) of each token."""
        lifted = (reference, *tokens)
        log_probs = await self.endpoint.log_probs(
            path,
            lifted,
            logprobs=len(lifted),
            logit_bias={str(token): self._BIAS for token in lifted},
            # llama.cpp returns probabilities from before its samplers by default; otherwise turn
            # all off.
            post_sampling_probs=True,
            top_k=0,
            min_p=0.0,
        )
        return {
            token: value - log_probs[0]
            for token, value in zip(tokens, log_probs[1:], strict=True)
        }


class TopK(Route):
    """A token outside the k most probable has at most the probability of the last of them, and at
    most what they leave over."""

    name = "top-k"
    exact = False

    async def answer_one(self, path: Tokens, wanted: Tokens) -> Bounds:
        k = self.endpoint.top_k
        top = await self.endpoint.top(path, k)
        unlisted = unlisted_bound(top.log_probs()[:k])
        lower, upper = [], []
        for token in wanted:
            value = self.endpoint.look_up(top, token)
            lower.append(-math.inf if value is None else value)
            upper.append(unlisted if value is None else value)
        return Bounds(np.array(lower), np.array(upper))


def unlisted_bound(log_probs: Sequence[float]) -> float:
    """Return the upper bound of the log-probability of a token outside the list.

    >>> round(math.exp(unlisted_bound([math.log(0.6), math.log(0.3)])), 3)
    0.101
    """
    if not log_probs:
        raise WrongReply("an empty list")
    total = sum(math.exp(value) for value in log_probs)
    remainder = max(0.0, 1.0 - total) + ROUNDING
    return min(*log_probs, math.log(remainder))


def _parts(tokens: Sequence[int], size: int) -> list[Tokens]:
    """Return the tokens in parts of at most this size."""
    return [tuple(tokens[i : i + size]) for i in range(0, len(tokens), size)]


ROUTES: dict[str, type[Route]] = {
    route.name: route for route in (TokenIds, Boost, TopK)
}
"""Every route by its name, in the order in which they are tried."""
