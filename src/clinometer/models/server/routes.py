"""Routes: ways to ask a server for the probabilities of chosen tokens after a path of tokens.

Servers differ in what they return, so there is a route for each way, tried in this order:

token-ids        the server looks up the wanted tokens (vLLM)
generate         the same by SGLang's own endpoint
prompt-logprobs  path and token as the prompt, with the prompt's log-probabilities (vLLM)
echo             the same with the echo of OpenAI's first API
boost            a bias lifts the wanted tokens into the list of the most probable (llama.cpp)
boost-plain      the same where log-probabilities are always those after the bias
force            a bias makes the server write one token, with its own log-probability
top-k            only the most probable tokens: bounds for all others
ollama           the same by Ollama's own endpoint, which takes text
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from clinometer.models.background import together
from clinometer.models.server.client import Client, Missing, WrongReply
from clinometer.models.server.reply import (
    Listed,
    echoed,
    first_place,
    of_ollama,
    of_prompt,
    of_token_ids,
)
from clinometer.models.server.tokenizer import Names, ServerTokenizer
from clinometer.models.tokens.word_tokens import Tokens
from clinometer.statistics.arrays import FloatArray

T = TypeVar("T")
Question = tuple[Tokens, Tokens]

#: Nothing but the model's own distribution: every cut and penalty off.
PLAIN = {"temperature": 1.0, "top_p": 1.0}


@dataclass(frozen=True)
class Bounds:
    """Log-probabilities of the wanted tokens: lower and upper bounds, equal where exact."""

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def exact(cls, values: Sequence[float]) -> Bounds:
        array = np.array(values, dtype=np.float64)
        return cls(array, array)


@dataclass(frozen=True)
class Endpoint:
    """Completions of one model.

    names   the tokens' texts, where the server returns no ids
    top_k   how many of the most probable tokens to request
    """

    client: Client
    url: str
    model: str
    names: Names
    top_k: int

    async def ask(self, path: Tokens, read: Callable[[Any], T], **body: Any) -> T:
        whole = {"model": self.model, "prompt": list(path), "max_tokens": 1, "stream": False}
        return await self.client.post(self.url, {**whole, **PLAIN, **body}, read)

    def look_up(self, listed: Listed, token: int) -> float | None:
        return listed.get(token, self.names.text(token) if listed.by_text else None)

    async def top(self, path: Tokens, k: int) -> Listed:
        """The k most probable tokens. Decoding is greedy, so that no rare token joins the list."""
        listed = await self.ask(path, first_place, logprobs=k, temperature=0.0)
        return await self.with_ids(listed) if listed.by_text else listed

    async def with_ids(self, listed: Listed) -> Listed:
        """A list by text with the ids of those texts that are single tokens."""
        self.names.needed = True
        numbers = await self.names.numbers(list(listed.by_text))
        return replace(listed, by_id={n: listed.by_text[t] for t, n in numbers.items()})


class Route(ABC):
    """One way to query a server."""

    name: ClassVar[str]
    exact: ClassVar[bool] = True

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def answer(self, questions: Sequence[Question]) -> list[Bounds]:
        await self.endpoint.names.load(list({t for _, wanted in questions for t in wanted}))
        return await together([self.one(path, wanted) for path, wanted in questions])

    @abstractmethod
    async def one(self, path: Tokens, wanted: Tokens) -> Bounds: ...


def required(value: float | None) -> float:
    if value is None:
        raise Missing("a wanted token is missing")
    return value


#: Lifts a token above all others: the maximum in OpenAI's API.
_BIAS = 100.0


class Boost(Route):
    """Tokens among the k most probable are read from that list. The others are lifted together with
    the most probable one, whose value is known: p(t) = p(known) · p'(t) / p'(known)."""

    name = "boost"
    #: llama.cpp returns probabilities from before its samplers by default; otherwise turn all off.
    _after_bias: ClassVar[dict[str, Any]] = {"post_sampling_probs": True, "top_k": 0, "min_p": 0.0}

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        top = await self.endpoint.top(path, self.endpoint.top_k)
        values = {t: self.endpoint.look_up(top, t) for t in wanted}
        rest = [t for t, value in values.items() if value is None]
        if not rest:
            return Bounds.exact([required(values[t]) for t in wanted])
        known = max(top.by_id, key=lambda t: top.by_id[t], default=None)
        if known is None:
            raise Missing("no token whose number is known")
        await self.endpoint.names.load([known])
        room = max(1, self.endpoint.top_k - 1)
        parts = [rest[i : i + room] for i in range(0, len(rest), room)]
        for part in await together([self.lifted(path, known, p) for p in parts]):
            values.update({t: top.by_id[known] + ratio for t, ratio in part.items()})
        return Bounds.exact([required(values[t]) for t in wanted])

    async def lifted(self, path: Tokens, known: int, tokens: Sequence[int]) -> dict[int, float]:
        """log p(t) - log p(known) of each token."""

        def read(reply: Any) -> dict[int, float]:
            listed = first_place(reply)
            values = {t: required(self.endpoint.look_up(listed, t)) for t in (known, *tokens)}
            return {t: values[t] - values[known] for t in tokens}

        return await self.endpoint.ask(
            path,
            read,
            logprobs=len(tokens) + 1,
            logit_bias={str(t): _BIAS for t in (known, *tokens)},
            **self._after_bias,
        )


class PlainBoost(Boost):
    """The same where log-probabilities are always returned after the bias."""

    name = "boost-plain"
    _after_bias: ClassVar[dict[str, Any]] = {}


class Force(Route):
    """One request per token: the bias makes the server generate it, with the model's own
    log-probability."""

    name = "force"

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        return Bounds.exact(await together([self.written(path, t) for t in wanted]))

    async def written(self, path: Tokens, token: int) -> float:
        def read(reply: Any) -> float:
            return required(self.endpoint.look_up(first_place(reply), token))

        return await self.endpoint.ask(
            path, read, logprobs=1, logit_bias={str(token): _BIAS}, temperature=0.0
        )


class TokenIds(Route):
    """The server looks up the wanted tokens itself."""

    name = "token-ids"
    #: vLLM's own limit.
    _most = 128

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        parts = [wanted[i : i + self._most] for i in range(0, len(wanted), self._most)]
        values = await together([self._part(path, part) for part in parts])
        return Bounds.exact([value for part in values for value in part])

    async def _part(self, path: Tokens, wanted: Tokens) -> list[float]:
        def read(reply: Any) -> list[float]:
            listed = first_place(reply)
            return [required(self.endpoint.look_up(listed, t)) for t in wanted]

        return await self.endpoint.ask(
            path,
            read,
            logprobs=1,
            logprob_token_ids=list(wanted),
            return_tokens_as_token_ids=True,
            temperature=0.0,
        )


class GenerateIds(Route):
    """The same by SGLang's own endpoint beside the OpenAI-compatible ones."""

    name = "generate"

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        def read(reply: Any) -> list[float]:
            listed = of_token_ids(reply)
            return [required(listed.get(token)) for token in wanted]

        body = {
            "input_ids": list(path),
            "sampling_params": {"max_new_tokens": 1, "temperature": 0.0},
            "return_logprob": True,
            "logprob_start_len": -1,
            "token_ids_logprob": list(wanted),
        }
        client = self.endpoint.client
        return Bounds.exact(await client.post(f"{client.address.root}/generate", body, read))


class PromptLogProbs(Route):
    """Path and token as the prompt. Prefixes of a longer sequence need no separate request: the
    longer one's reply contains their tokens too."""

    name = "prompt-logprobs"

    async def answer(self, questions: Sequence[Question]) -> list[Bounds]:
        wanted = {(*path, t) for path, tokens in questions for t in tokens}
        begun = {s[:n] for s in wanted for n in range(len(s))}
        sequences = sorted(wanted - begun)
        replies = await together([self.whole(s) for s in sequences])
        value: dict[Tokens, float] = {}
        for tokens, log_probs in zip(sequences, replies, strict=True):
            for n in range(1, len(tokens)):
                value.setdefault(tokens[: n + 1], required(log_probs[n]))
        return [Bounds.exact([value[(*path, t)] for t in ts]) for path, ts in questions]

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        return (await self.answer([(path, wanted)]))[0]

    async def whole(self, tokens: Tokens) -> list[float | None]:
        return await self.endpoint.ask(
            tokens, lambda reply: of_prompt(reply, tokens), prompt_logprobs=0, temperature=0.0
        )


class Echo(PromptLogProbs):
    """The same with the echo of OpenAI's first API."""

    name = "echo"

    async def whole(self, tokens: Tokens) -> list[float | None]:
        return await self.endpoint.ask(
            tokens,
            lambda reply: echoed(reply, len(tokens)),
            echo=True,
            logprobs=1,
            temperature=0.0,
        )


#: Tolerance of the sum of a server's probabilities.
_ROUNDING = 1e-3


class TopK(Route):
    """A token outside the k most probable has at most the probability of the last of them, and at
    most what they leave over."""

    name = "top-k"
    exact = False

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        top = await self.endpoint.top(path, self.endpoint.top_k)
        values = [self.endpoint.look_up(top, t) for t in wanted]
        most = unlisted_bound(top.values()[: self.endpoint.top_k])
        lower = [-math.inf if v is None else v for v in values]
        upper = [most if v is None else v for v in values]
        return Bounds(np.array(lower), np.array(upper))


def unlisted_bound(listed: Sequence[float]) -> float:
    """The upper bound of the log-probability of a token outside the list.

    >>> round(math.exp(unlisted_bound([math.log(0.6), math.log(0.3)])), 3)
    0.101
    """
    if not listed:
        raise WrongReply("an empty list")
    rest = max(0.0, 1.0 - sum(math.exp(v) for v in listed)) + _ROUNDING
    return min(*listed, math.log(rest))


#: Nothing but the model's own distribution: Ollama takes anything missing here from its Modelfile.
_OPTIONS = {"num_predict": 1, "temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
_NO_PENALTY = {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}


@dataclass(frozen=True)
class OllamaEndpoint(Endpoint):
    """/api/generate without Ollama's template. Needs the model's tokenizer, as Ollama has no
    endpoint for it."""

    async def top(self, path: Tokens, k: int) -> Listed:
        """The k most probable tokens; Missing where Ollama cannot list them."""
        text = self._text(path)
        if text is None:
            raise Missing("a path that its own text does not give back")
        body = {
            "model": self.model,
            "prompt": text,
            "raw": True,
            "stream": False,
            "logprobs": True,
            "top_logprobs": k,
            "options": _OPTIONS | _NO_PENALTY,
        }
        url = f"{self.client.address.root}/api/generate"
        listed = await self.client.post(url, body, of_ollama)
        if listed is None:
            raise Missing("the reply ended at once")
        return await self.with_ids(listed)

    def _text(self, path: Tokens) -> str | None:
        """The text whose tokens are the path; Ollama adds the BOS token itself. None if there is
        none: the tokens of a word's beginning may be others than the word's first ones."""
        tokenizer: Any = self.names.tokenizer
        if isinstance(tokenizer, ServerTokenizer):
            raise Missing("no tokenizer; name it with --tokenizer")
        opening = len(tokenizer.encode("", add_special_tokens=True))
        text = str(tokenizer.decode(list(path[opening:]), clean_up_tokenization_spaces=False))
        again = tokenizer.encode(text, add_special_tokens=True)
        return text if tuple(again) == path else None


class Ollama(TopK):
    """As top-k. Where Ollama returns no list (a path that is no text's own tokens, or a reply that
    ends with its first token) nothing is known of a token."""

    name = "ollama"

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        try:
            return await super().one(path, wanted)
        except Missing:
            if self.endpoint.client.probing:
                raise
            return Bounds(np.full(len(wanted), -math.inf), np.zeros(len(wanted)))


_TRIED = (TokenIds, GenerateIds, PromptLogProbs, Echo, Boost, PlainBoost, Force, TopK, Ollama)
ROUTES: dict[str, type[Route]] = {route.name: route for route in _TRIED}
