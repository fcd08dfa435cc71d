"""Words at the slot of a model behind a server, as of any other causal model, by one of the routes:
ways to ask for the probabilities of chosen tokens after a path of tokens.

Servers differ in what they return, so there is a route for each way, tried in this order:

token-ids   the server looks up the wanted tokens (vLLM)
boost       a bias lifts the wanted tokens into the list of the most probable (llama.cpp)
top-k       only the most probable tokens: bounds for all others

The log-probabilities in a reply have two forms: lists of objects with `id` or `token` (llama.cpp,
chat endpoints), and mappings from a token's text or from "token_id:N" to its log-probability
(OpenAI's first API, vLLM). The tokens are the server's own: llama.cpp and vLLM both answer at
/tokenize, with different names for the same things.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from clinometer.errors import ModelError, ModelNotFound
from clinometer.models.background import together
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client import (
    NO_ACCESS,
    Client,
    Missing,
    RequestRefused,
    Unsupported,
    WrongReply,
)
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordScores
from clinometer.models.scoring.word_scorer import Job, WordScorer
from clinometer.models.tokens import Tokens, WordList, in_template, local_tokenizer
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

#: Characters of a token: the longest in common vocabularies are lines of 128 signs or spaces.
LONGEST_TOKEN = 256
_BY_ID = "token_id:"
_SILENT = -1e4  # servers write minus infinity as a large number, as JSON has none


@dataclass(frozen=True)
class Listed:
    """The most probable tokens at one position with their log-probabilities, by id where the server
    returns ids, else by text."""

    by_id: dict[int, float]
    by_text: dict[str, float]

    def values(self) -> list[float]:
        """All of them, the most probable first."""
        return sorted((self.by_text or self.by_id).values(), reverse=True)


def first_place(reply: Any) -> Listed:
    """The reply's list for the first generated token."""
    choice = reply["choices"][0]
    if not isinstance(choice["text"], str):
        raise WrongReply("not a completion")
    log_probs = choice.get("logprobs") or {}
    top: Iterable[tuple[str, float]]
    if "content" in log_probs:
        first = (log_probs["content"] or [{}])[0]
        top = map(_entry, first.get("top_logprobs", first.get("top_probs")) or ())
    else:
        top = ((log_probs.get("top_logprobs") or [None])[0] or {}).items()
    listed = Listed({}, {})
    for name, value in top:
        if name.startswith(_BY_ID):
            listed.by_id[int(name.removeprefix(_BY_ID))] = log_prob(value)
        else:
            listed.by_text[name] = log_prob(value)
    if not listed.values():
        raise Missing("no list of probable tokens")
    return listed


def _entry(place: Any) -> tuple[str, float]:
    """An object of a token: `logprob`, or after sampling `prob`."""
    name = f"{_BY_ID}{int(place['id'])}" if "id" in place else place["token"]
    if "logprob" in place:
        return name, place["logprob"]
    return name, math.log(place["prob"]) if place["prob"] > 0 else -math.inf


def choices(reply: Any, most: int) -> list[Any]:
    """What a server offers as its answers: at least one, at most as many as requested."""
    offered = reply["choices"]
    if not 1 <= len(offered) <= most:
        raise WrongReply("not as many choices as asked for")
    return list(offered)


def checked_texts(texts: list[Any], tokens: int) -> list[str]:
    """Texts of a length that `tokens` of them can have."""
    if not all(isinstance(text, str) for text in texts):
        raise WrongReply("a choice without text")
    if any(len(text) > LONGEST_TOKEN * (tokens + 1) for text in texts):
        raise WrongReply("more text than its tokens can have")
    return texts


def log_prob(value: Any) -> float:
    number = float(value)
    if math.isnan(number) or number > 1e-3:
        raise WrongReply("not a log-probability")
    return -math.inf if number <= _SILENT else min(number, 0.0)


# --- The server's own tokenizer, asked over HTTP and cached, behind our tokenizer interface -------


class ServerTokenizer:
    """The part of a tokenizer that `WordList` and `head_tokens` use.

    A server reports no unknown token, so every word can be encoded: such tokenizers fall back to
    bytes.
    """

    unk_token_id = None
    eos_token_id = None
    sep_token_id = None

    def __init__(self, client: Client, model: str) -> None:
        self.client, self.model = client, model
        self._tokens: dict[tuple[str, bool], list[int]] = {}
        self._texts: dict[tuple[int, ...], str] = {}
        #: what the server adds before every text; an empty text shows it alone
        opening = self.encode("", add_special_tokens=True)
        self.bos_token_id = opening[0] if len(opening) == 1 else None

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return list(self.client.run(self.tokens_of(text, special=add_special_tokens)))

    def __call__(self, texts: Sequence[str], *, add_special_tokens: bool) -> dict[str, Any]:
        special = add_special_tokens
        self.client.run(
            together([self.tokens_of(t, special=special) for t in dict.fromkeys(texts)])
        )
        return {"input_ids": [list(self._tokens[t, special]) for t in texts]}

    async def tokens_of(self, text: str, *, special: bool) -> list[int]:
        if (text, special) not in self._tokens:
            body = {
                "model": self.model,
                "content": text,  # llama.cpp
                "add_special": special,
                "prompt": text,  # vLLM
                "add_special_tokens": special,
            }
            url = f"{self.client.address.root}/tokenize"
            self._tokens[text, special] = await self.client.post(url, body, _ids)
        return self._tokens[text, special]

    def decode(self, ids: Sequence[int]) -> str:
        return self.client.run(self.text_of(tuple(ids)))

    async def text_of(self, ids: Tokens) -> str:
        if ids not in self._texts:
            body = {"model": self.model, "tokens": list(ids)}
            url = f"{self.client.address.root}/detokenize"
            self._texts[ids] = await self.client.post(url, body, _text)
        return self._texts[ids]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.decode([i]) for i in ids]


def _ids(reply: Any) -> list[int]:
    ids = reply["tokens"]
    if not all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 1 << 31 for i in ids):
        raise WrongReply("not token numbers")
    return list(ids)


def _text(reply: Any) -> str:
    text = reply.get("content", reply.get("prompt"))
    if not isinstance(text, str):
        raise WrongReply("not a text")
    return text


class Names:
    """The texts of tokens. They are looked up before a reply arrives, once it is known that the
    server names tokens by text."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.needed = False
        self.texts: dict[int, str] = {}

    async def load(self, tokens: Sequence[int]) -> None:
        new = [t for t in tokens if t not in self.texts] if self.needed else []
        self.texts.update(zip(new, await together([self._text(t) for t in new]), strict=True))

    async def numbers(self, texts: Sequence[str]) -> dict[str, int]:
        """The ids of those texts that are single tokens."""
        found = await together([self._numbers(text) for text in texts])
        return {text: ids[0] for text, ids in zip(texts, found, strict=True) if len(ids) == 1}

    async def _text(self, token: int) -> str:
        if isinstance(self.tokenizer, ServerTokenizer):
            return await self.tokenizer.text_of((token,))
        text = str(self.tokenizer.decode([token]))
        (name,) = self.tokenizer.convert_ids_to_tokens([token])
        # SentencePiece drops the leading space when a token is decoded alone.
        return f" {text}" if name.startswith("▁") and not text.startswith(" ") else text

    async def _numbers(self, text: str) -> list[int]:
        if isinstance(self.tokenizer, ServerTokenizer):
            return await self.tokenizer.tokens_of(text, special=False)
        return list(self.tokenizer.encode(text, add_special_tokens=False))


T = TypeVar("T")
# --- Routes ---------------------------------------------------------------------------------------


Question = tuple[Tokens, Tokens]


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
    model: str
    names: Names
    top_k: int

    async def ask(self, path: Tokens, read: Callable[[Any], T], **body: Any) -> T:
        """The model's own distribution unless `body` says otherwise: every cut and penalty off."""
        plain = {"max_tokens": 1, "stream": False, "temperature": 1.0, "top_p": 1.0}
        whole = {"model": self.model, "prompt": list(path), **plain, **body}
        return await self.client.post(f"{self.client.address.base}/completions", whole, read)

    async def values(self, path: Tokens, wanted: Sequence[int], **body: Any) -> list[float]:
        """Log-probabilities of these tokens, all of which the reply has to list."""

        def read(reply: Any) -> list[float]:
            listed = first_place(reply)
            return [required(self.look_up(listed, token)) for token in wanted]

        return await self.ask(path, read, **body)

    def look_up(self, listed: Listed, token: int) -> float | None:
        if not listed.by_text:
            return listed.by_id.get(token)
        return listed.by_text.get(self.names.texts.get(token, ""))

    async def top(self, path: Tokens, k: int) -> Listed:
        """The k most probable tokens, with ids where the text of one is a single token. Decoding is
        greedy, so that no rare token joins the list."""
        listed = await self.ask(path, first_place, logprobs=k, temperature=0.0)
        if not listed.by_text:
            return listed
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
#: llama.cpp returns probabilities from before its samplers by default; otherwise turn all off.
_AFTER_BIAS = {"post_sampling_probs": True, "top_k": 0, "min_p": 0.0}


class Boost(Route):
    """Tokens among the k most probable are read from that list. The others are lifted together with
    the most probable one, whose value is known: p(t) = p(known) · p'(t) / p'(known)."""

    name = "boost"

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
        least, *values = await self.endpoint.values(
            path,
            (known, *tokens),
            logprobs=len(tokens) + 1,
            logit_bias={str(t): _BIAS for t in (known, *tokens)},
            **_AFTER_BIAS,
        )
        return {t: value - least for t, value in zip(tokens, values, strict=True)}


class TokenIds(Route):
    """The server looks up the wanted tokens itself."""

    name = "token-ids"
    #: vLLM's own limit.
    _most = 128

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        parts = [wanted[i : i + self._most] for i in range(0, len(wanted), self._most)]
        how = {"logprobs": 1, "return_tokens_as_token_ids": True, "temperature": 0.0}
        values = await together(
            [self.endpoint.values(path, p, logprob_token_ids=list(p), **how) for p in parts]
        )
        return Bounds.exact([value for part in values for value in part])


#: Tolerance of the sum of a server's probabilities.
ROUNDING = 1e-3


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
    rest = max(0.0, 1.0 - sum(math.exp(v) for v in listed)) + ROUNDING
    return min(*listed, math.log(rest))


ROUTES: dict[str, type[Route]] = {route.name: route for route in (TokenIds, Boost, TopK)}


# --- Words at the slot ----------------------------------------------------------------------------


#: This many equal numbers are not a coincidence.
_ENOUGH = 4


class ServerScorer(WordScorer):
    """A model behind a server. With an exact route its numbers mean the same as those of a local
    model; with top-k they are lower bounds, returned together with upper ones."""

    def __init__(self, route: Route, tokenizer: Any, info: ModelInfo, **options: Any) -> None:
        super().__init__(tokenizer, info, **options)
        self.route = route
        self.client: Client = route.endpoint.client

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        answers: dict[Question, Bounds] = {}

        def lower(paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[FloatArray]:
            """Lower bounds from the server, which gives both."""
            questions = list(zip(paths, wanted, strict=True))
            new = [q for q in dict.fromkeys(questions) if q not in answers]
            bounds = self.client.run(self.route.answer(new))
            answers.update(zip(new, bounds, strict=True))
            return [answers[q].lower for q in questions]

        def upper(paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[FloatArray]:
            """Upper bounds: those of the answers, and 1 for words that were not queried."""
            return [
                answers[q].upper if q in answers else np.zeros(len(q[1]))
                for q in zip(paths, wanted, strict=True)
            ]

        job = Job(self, prompts, words)
        scores = job.score_in_rows(lower, None if self.route.exact else upper)
        self._check_possible(scores.log_probs)
        return scores

    def _check_possible(self, log_probs: FloatArray) -> None:
        """Refuse numbers that are not a distribution: words exclude each other, so their total
        probability is at most 1; and no model finds all words equally likely everywhere."""
        most = float(np.exp(log_probs).sum(axis=1).max(initial=0.0))
        if most > 1 + _SLACK:
            raise ModelError(
                f"{self.info.name}: expected words with a probability of at most 1 together, found "
                f"{most:.3g}: the server's numbers are not log-probabilities"
            )
        known = log_probs[np.isfinite(log_probs)]
        if self.route.exact and known.size >= _ENOUGH and np.ptp(known) == 0:
            raise ModelError(
                f"{self.info.name}: expected log-probabilities that differ, found {known[0]:.3g} "
                f"{known.size} times: the server's numbers are not log-probabilities"
            )


#: How far two answers to one request may differ: caches and batches change the rounding.
_AGREEMENT = 0.05
#: How far the sum of a server's probabilities may exceed 1: half precision.
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
    endpoint, top = await _widest(endpoint, path)
    rare = next((t for t in candidates if t not in top.by_id), candidates[0])
    for name in (wanted,) if wanted else ROUTES:
        route = ROUTES[name](endpoint)
        if await _works(route, path, top, rare):
            return route
    raise ModelError(
        f"{endpoint.client.place}: cannot be queried by the route {wanted!r}; leave "
        "out route= to use one that works"
    )


async def _widest(endpoint: Endpoint, path: Tokens) -> tuple[Endpoint, Listed]:
    """The endpoint with lists as long as it returns, at most the length requested."""
    reason = ""
    for k in sorted({min(k, endpoint.top_k) for k in (endpoint.top_k, *_WIDTHS)}, reverse=True):
        endpoint.client.probing = True
        try:
            top = await endpoint.top(path, k)
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
        values = top.values()
        total = sum(map(math.exp, values))
        if total > 1 + _SLACK or (len(values) > 2 and len(set(values)) == 1):
            raise ModelError(
                f"{endpoint.client.place}: expected log-probabilities, found "
                f"{len(values)} tokens with a probability of {total:.3g} together, the first with "
                f"{values[0]:.3g}: --replies N samples answers instead"
            )
        return replace(endpoint, top_k=min(k, len(values))), top
    raise Unsupported(
        f"{endpoint.client.place}: returns no log-probabilities for a prompt of "
        f"token ids; --replies N samples answers instead ({reason})"
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


#: What the probe sends: a prefix with many continuations, and words that are unlikely ones.
_PROBE = "The weather in the town was"
_RARE = (" eleventh", "}", "@", " Zanzibar", "Q", "7")


def open_by_words(
    spec: ModelSpec,
    client: Client,
    served: dict[str, Any],
    info: ModelInfo,
    *,
    load: LoadOptions,
    words: WordOptions,
) -> Scorer:
    """By the probability of every token of a word, as of a local model."""
    model = str(served["id"])
    tokenizer: Any
    if (name := load.server.tokenizer) is not None:
        tokenizer = local_tokenizer(name, load)
    else:
        try:
            tokenizer = ServerTokenizer(client, model)
        except (RequestRefused, ModelNotFound) as error:
            status = error.status if isinstance(error, RequestRefused) else 404
            raise Unsupported(
                f"model {spec.name!r}: its server has no /tokenize (status {status}); name its "
                "tokenizer with --load tokenizer=NAME, a folder, a .gguf file or a Hugging Face id"
            ) from error
    chat = find_opening(tokenizer, load, client, model) if load.chat else None
    if load.chat and chat is None:
        raise ModelError(
            f"model {spec.name!r}: has no chat template; score it without --chat, or name a "
            "tokenizer that has one with --load tokenizer=NAME"
        )
    endpoint = Endpoint(client, model, Names(tokenizer), load.server.top_k)
    path = tuple(tokenizer.encode(_PROBE, add_special_tokens=True))
    rare = [t for w in _RARE for t in tokenizer.encode(w, add_special_tokens=False)[:1]]
    if not path or not rare:
        raise ModelError(
            f"model {spec.name!r}: its tokenizer gives no tokens for plain words; name the right "
            "one with --load tokenizer=NAME"
        )
    route = client.run(choose_route(endpoint, path, rare, wanted=load.server.route))
    exact = "exact" if route.exact else f"the {route.endpoint.top_k} most probable tokens only"
    how = f"queried by the route {route.name}: {exact}"
    meta = served.get("meta") or {}
    revision, parameters = f"{info.revision}, {route.name}", meta.get("n_params")
    info = replace(info, revision=revision, parameters=parameters, notes=(how,))
    limit = meta.get("n_ctx") or served.get("max_model_len")
    most = limit - 1 if limit else None
    return ServerScorer(route, tokenizer, info, options=words, chat=chat, length_limit=most)


# --- The server's chat template -------------------------------------------------------------------


def find_opening(tokenizer: Any, load: LoadOptions, client: Client, model: str) -> str | None:
    """The text before the assistant's turn, in the template of the tokenizer or of the server; None
    if neither has one.

    llama.cpp returns the text on request; vLLM returns its tokens, and the text of tokens.
    """
    messages = [{"role": "user", "content": load.chat_request}]
    if (written := in_template(tokenizer, messages)) is not None:
        return written
    body = {
        "model": model,
        "messages": messages,
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    root = client.address.root
    told = _asked(client, f"{root}/apply-template", body, "prompt")
    if told is None and (tokens := _asked(client, f"{root}/tokenize", body, "tokens")) is not None:
        told = _asked(client, f"{root}/detokenize", {"model": model, "tokens": tokens}, "prompt")
    # A server without chat support may ignore the messages.
    return told if isinstance(told, str) and load.chat_request in told else None


def _asked(client: Client, url: str, body: dict[str, Any], name: str) -> Any:
    try:
        return client.run(client.post(url, body, lambda reply: reply.get(name)))
    except (RequestRefused, ModelNotFound):
        return None
