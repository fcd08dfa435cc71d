"""The endpoint of completions: a path of tokens in, the most probable next tokens out.

The log-probabilities in a reply have two forms: lists of objects with `id` or `token` (llama.cpp,
chat endpoints), and mappings from a token's text or from "token_id:N" to its log-probability
(OpenAI's first API, vLLM).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from clinometer.models.client.client import Client
from clinometer.models.client.failures import Missing, WrongReply
from clinometer.models.server.reply import log_prob
from clinometer.models.server.tokenizer import TokenTexts
from clinometer.models.tokens import Tokens

T = TypeVar("T")

_BY_ID = "token_id:"
"""How the name of a token begins that is named by its id."""

_UNCUT = {"max_tokens": 1, "stream": False, "temperature": 1.0, "top_p": 1.0}
"""The model's own distribution: every cut and penalty off."""


@dataclass(frozen=True)
class TokenList:
    """The most probable tokens at one position with their log-probabilities, by id where the server
    returns ids, else by text."""

    by_id: dict[int, float]
    by_text: dict[str, float]

    def log_probs(self) -> list[float]:
        """Return all of them, the most probable first."""
        return sorted((self.by_text or self.by_id).values(), reverse=True)


def first_token_list(reply: Any) -> TokenList:
    """Return the reply's list for the first generated token."""
    choice = reply["choices"][0]
    if not isinstance(choice["text"], str):
        raise WrongReply("not a completion")
    tokens = TokenList({}, {})
    for name, value in _named_values(choice.get("logprobs") or {}):
        if name.startswith(_BY_ID):
            tokens.by_id[int(name.removeprefix(_BY_ID))] = log_prob(value)
        else:
            tokens.by_text[name] = log_prob(value)
    if not tokens.log_probs():
        raise Missing("no list of probable tokens")
    return tokens


def _named_values(log_probs: dict[str, Any]) -> Iterable[tuple[str, float]]:
    """Return the names and log-probabilities at the first position, in either form."""
    if "content" in log_probs:
        positions = log_probs["content"] or [{}]
        first = positions[0]
        objects = first.get("top_logprobs", first.get("top_probs")) or ()
        return [_named_value(token) for token in objects]
    mappings = log_probs.get("top_logprobs") or [None]
    return (mappings[0] or {}).items()


def _named_value(token: Any) -> tuple[str, float]:
    """Return name and log-probability of an object: `logprob`, or after sampling `prob`."""
    name = f"{_BY_ID}{int(token['id'])}" if "id" in token else token["token"]
    if "logprob" in token:
        return name, token["logprob"]
    if token["prob"] > 0:
        return name, math.log(token["prob"])
    return name, -math.inf


def required(value: float | None) -> float:
    """Return a log-probability that the reply has to list."""
    if value is None:
        raise Missing("a wanted token is missing")
    return value


@dataclass(frozen=True)
class CompletionEndpoint:
    """Completions of one model."""

    client: Client
    model: str
    token_texts: TokenTexts
    """The tokens' texts, where the server returns no ids."""
    top_k: int
    """How many of the most probable tokens to request."""

    async def ask(self, path: Tokens, read: Callable[[Any], T], **parameters: Any) -> T:
        """Ask what follows a path, uncut unless `parameters` say otherwise."""
        body = {
            "model": self.model,
            "prompt": list(path),
            **_UNCUT,
            **parameters,
        }
        url = f"{self.client.address.base}/completions"
        return await self.client.send("POST", url, body, read)

    async def log_probs(
        self, path: Tokens, wanted: Sequence[int], **parameters: Any
    ) -> list[float]:
        """Return the log-probabilities of these tokens, all of which the reply has to list."""

        def read(reply: Any) -> list[float]:
            tokens = first_token_list(reply)
            return [required(self.look_up(tokens, token)) for token in wanted]

        return await self.ask(path, read, **parameters)

    def look_up(self, tokens: TokenList, token: int) -> float | None:
        """Return the log-probability of a token in a list, by its text where there are no ids."""
        if not tokens.by_text:
            return tokens.by_id.get(token)
        return tokens.by_text.get(self.token_texts.texts.get(token, ""))

    async def top(self, path: Tokens, k: int) -> TokenList:
        """Return the k most probable tokens, with ids where the text of one is a single token.

        Decoding is greedy, so that no rare token joins the list.
        """
        tokens = await self.ask(path, first_token_list, logprobs=k, temperature=0.0)
        if not tokens.by_text:
            return tokens
        self.token_texts.needed = True
        ids = await self.token_texts.single_tokens(list(tokens.by_text))
        by_id = {token: tokens.by_text[text] for text, token in ids.items()}
        return replace(tokens, by_id=by_id)
