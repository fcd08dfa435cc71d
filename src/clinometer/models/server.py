"""Hosted models (`openai/NAME`, `anthropic/NAME`, …) and any OpenAI-compatible server
(`openai:URL#MODEL`). `open_server` finds out whether words can be scored, first tokens are listed,
or replies are sampled.

Words at the slot are scored as of any other causal model, by one of the routes: ways to ask for the
probabilities of chosen tokens after a path of tokens. Servers differ in what they return, so there
is a route for each way, tried in this order:

token-ids   the server looks up the wanted tokens (vLLM)
boost       a bias lifts the wanted tokens into the list of the most probable (llama.cpp)
top-k       only the most probable tokens: bounds for all others

The log-probabilities in a reply have two forms: lists of objects with `id` or `token` (llama.cpp,
chat endpoints), and mappings from a token's text or from "token_id:N" to its log-probability
(OpenAI's first API, vLLM). The tokens are the server's own: llama.cpp and vLLM both answer at
/tokenize, with different names for the same things.

The chat endpoint takes messages and gives replies or first tokens, in two wire formats: OpenAI's
chat completions, which nearly all speak, and Anthropic's Messages. Providers take the same request
with different parameters: one wants max_completion_tokens, another no seed, a third temperature or
top_p but not both. Lists of who takes what are out of date when they are written, and a refusal
names the parameter. So a request is sent with all that matters; what is refused is renamed, changed
or left out, one refusal at a time, and remembered with the run.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from clinometer.errors import ModelError, ModelNotFound, SettingsError
from clinometer.models.background import together
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client import (
    LENGTHS,
    NO_ACCESS,
    Address,
    Client,
    Missing,
    RequestRefused,
    Unsupported,
    WrongReply,
    digest,
    served_model,
)
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, Turn, WordReport, WordScores
from clinometer.models.providers import price_of
from clinometer.models.sampled import (
    IN_TEMPLATE,
    AskingSampler,
    check_continued,
    first_line,
    seed_for,
)
from clinometer.models.scoring.word_scorer import Job, WordScorer
from clinometer.models.tokens import (
    Tokens,
    WordList,
    in_opening,
    in_template,
    local_tokenizer,
)
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt
from clinometer.topics.conversation import is_conversation, messages_of

T = TypeVar("T")

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

    def __call__(
        self, texts: Sequence[str], *, add_special_tokens: bool
    ) -> dict[str, Any]:
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
            self._tokens[text, special] = await self.client.send(
                "POST", url, body, _ids
            )
        return self._tokens[text, special]

    def decode(self, ids: Sequence[int]) -> str:
        return self.client.run(self.text_of(tuple(ids)))

    async def text_of(self, ids: Tokens) -> str:
        if ids not in self._texts:
            body = {"model": self.model, "tokens": list(ids)}
            url = f"{self.client.address.root}/detokenize"
            self._texts[ids] = await self.client.send("POST", url, body, _text)
        return self._texts[ids]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.decode([i]) for i in ids]


def _ids(reply: Any) -> list[int]:
    ids = reply["tokens"]
    if not all(
        isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 1 << 31 for i in ids
    ):
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
        self.texts.update(
            zip(new, await together([self._text(t) for t in new]), strict=True)
        )

    async def numbers(self, texts: Sequence[str]) -> dict[str, int]:
        """The ids of those texts that are single tokens."""
        found = await together([self._numbers(text) for text in texts])
        return {
            text: ids[0]
            for text, ids in zip(texts, found, strict=True)
            if len(ids) == 1
        }

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
        return await self.client.send(
            "POST", f"{self.client.address.base}/completions", whole, read
        )

    async def values(
        self, path: Tokens, wanted: Sequence[int], **body: Any
    ) -> list[float]:
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
        await self.endpoint.names.load(
            list({t for _, wanted in questions for t in wanted})
        )
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

    async def lifted(
        self, path: Tokens, known: int, tokens: Sequence[int]
    ) -> dict[int, float]:
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
            [
                self.endpoint.values(path, p, logprob_token_ids=list(p), **how)
                for p in parts
            ]
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


ROUTES: dict[str, type[Route]] = {
    route.name: route for route in (TokenIds, Boost, TopK)
}


# --- Words at the slot ----------------------------------------------------------------------------


#: This many equal numbers are not a coincidence.
_ENOUGH = 4


class ServerScorer(WordScorer):
    """A model behind a server. With an exact route its numbers mean the same as those of a local
    model; with top-k they are lower bounds, returned together with upper ones."""

    def __init__(
        self, route: Route, tokenizer: Any, info: ModelInfo, **options: Any
    ) -> None:
        super().__init__(tokenizer, info, **options)
        self.route = route
        self.client: Client = route.endpoint.client

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        answers: dict[Question, Bounds] = {}

        def lower(
            paths: Sequence[Tokens], wanted: Sequence[Tokens]
        ) -> list[FloatArray]:
            """Lower bounds from the server, which gives both."""
            questions = list(zip(paths, wanted, strict=True))
            new = [q for q in dict.fromkeys(questions) if q not in answers]
            bounds = self.client.run(self.route.answer(new))
            answers.update(zip(new, bounds, strict=True))
            return [answers[q].lower for q in questions]

        def upper(
            paths: Sequence[Tokens], wanted: Sequence[Tokens]
        ) -> list[FloatArray]:
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
    for k in sorted(
        {min(k, endpoint.top_k) for k in (endpoint.top_k, *_WIDTHS)}, reverse=True
    ):
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
        agree = [
            abs(v - known[t]) < _AGREEMENT
            for t, v in zip(tokens, found.upper, strict=False)
        ]
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
    exact = (
        "exact"
        if route.exact
        else f"the {route.endpoint.top_k} most probable tokens only"
    )
    how = f"queried by the route {route.name}: {exact}"
    meta = served.get("meta") or {}
    revision, parameters = f"{info.revision}, {route.name}", meta.get("n_params")
    info = replace(info, revision=revision, parameters=parameters, notes=(how,))
    limit = meta.get("n_ctx") or served.get("max_model_len")
    most = limit - 1 if limit else None
    return ServerScorer(
        route, tokenizer, info, options=words, chat=chat, length_limit=most
    )


# --- The server's chat template -------------------------------------------------------------------


def find_opening(
    tokenizer: Any, load: LoadOptions, client: Client, model: str
) -> str | None:
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
    if (
        told is None
        and (tokens := _asked(client, f"{root}/tokenize", body, "tokens")) is not None
    ):
        told = _asked(
            client, f"{root}/detokenize", {"model": model, "tokens": tokens}, "prompt"
        )
    # A server without chat support may ignore the messages.
    return told if isinstance(told, str) and load.chat_request in told else None


def _asked(client: Client, url: str, body: dict[str, Any], name: str) -> Any:
    try:
        return client.run(client.send("POST", url, body, lambda reply: reply.get(name)))
    except (RequestRefused, ModelNotFound):
        return None


# --- The chat endpoint ----------------------------------------------------------------------------


Messages = Sequence[Mapping[str, str]]

#: The model's own distribution only: vLLM takes any setting missing here from the model's
#: generation_config.json.
PLAIN = {
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "stream": False,
}
NO_CUTS = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}

#: What may be left out, what matters least first. A temperature may be left out if it is 1, which
#: is every provider's default.
_SPARE = (*NO_CUTS, "presence_penalty", "frequency_penalty", "stream", "top_p", "seed")
#: Left out together before a server has accepted anything, if its refusal names nothing.
_UNNAMED = (
    tuple(NO_CUTS),
    ("presence_penalty", "frequency_penalty", "top_p"),
    ("seed",),
)
#: What a request is about; never left out, and no name to look for in a sentence.
_CONTENT = ("model", "messages", "prompt", "system")
#: Statuses of a request that another form of it may pass.
_ADAPTABLE = (400, 403, 422)

_SEVERAL = re.compile(
    r"extra_forbidden|unrecognized|unknown name|unexpected keyword", re.I
)
_LEAST = re.compile(
    r"(?:>=|at least|minimum(?: value)? (?:is|of)|greater than or equal to)\D{0,3}(\d+)",
    re.I,
)
_MOST = re.compile(
    r"(?:<=|at most|maximum(?: value)? (?:is|of)|less than or equal to)\D{0,3}(\d+)",
    re.I,
)
_SYSTEM = re.compile(r"system.{0,20}role|role.{0,40}system", re.I)
FILTERED = re.compile(r"content_?filter|content management policy|content_policy", re.I)

#: As many as providers list (OpenAI, Google, llama.cpp, vLLM).
LISTED = 20

#: The instruction to a chat model that should continue a text.
INSTRUCTION = (
    "Continue this text with the words that come next. Answer with these words only: {}"
)

#: Parameters of Anthropic's Messages; it has no others of ours.
_ANTHROPIC = ("model", "messages", "max_tokens", "temperature")
#: Room for a reply after hidden tokens have left none: at first, and at most.
_FIRST_ROOM, _MOST_ROOM = 512, 16_384


class ChatEndpoint:
    """Asks one model, in the form that its server takes as far as its refusals show; `earlier` is
    the record of a run that is resumed."""

    def __init__(
        self, client: Client, model: str, earlier: Mapping[str, Any] | None = None
    ) -> None:
        self.client, self.model, known = client, model, earlier or {}
        provider = client.address.provider
        self.wire = "openai" if provider is None else provider.wire
        renamed = {} if provider is None else provider.renamed
        self.renamed: dict[str, str] = {**renamed, **known.get("renamed", {})}
        self.left_out: list[str] = list(known.get("left_out", ()))
        self.least: dict[str, int] = dict(known.get("least", {}))
        self.most: dict[str, int] = dict(known.get("most", {}))
        self.system = bool(known.get("system", True))
        self.refusals: list[dict[str, Any]] = list(known.get("refusals", ()))
        self.sent: dict[str, Any] = dict(known.get("sent", {}))
        #: whether anything was accepted: then an unnamed refusal is about the content
        self.any = bool(self.sent)
        self.filtered = 0
        self.lists: bool | None = known.get("lists")
        self.answered_by: set[str] = set(known.get("answered_by", ()))

    def record(self) -> dict[str, Any]:
        """For run.json: what is sent besides the text, what was refused, and which model says it
        answered."""
        seed = self.renamed.get("seed", "seed")
        return {
            "address": self.client.address.base,
            "sent": {
                **self.sent,
                **({seed: "one a request"} if seed in self.sent else {}),
            },
            "refusals": self.refusals,
            "renamed": self.renamed,
            "left_out": self.left_out,
            "least": self.least,
            "most": self.most,
            **({} if self.system else {"system": False}),
            "answered_by": sorted(self.answered_by),
            **({"filtered": self.filtered} if self.filtered else {}),
            **({} if self.lists is None else {"lists": self.lists}),
        }

    async def ask(
        self, messages: Messages, length: int, **parameters: Any
    ) -> list[str]:
        """One text per reply; "" for one that the provider's filter withheld. Replies that hidden
        tokens left no room for are missing, and the next request has more room."""
        n = parameters.get("n", 1)

        def read(reply: Any) -> list[str | None]:
            if self.wire == "anthropic":
                replies = [of_anthropic(reply)]
            else:
                replies = [of_openai(choice) for choice in choices(reply, n)]
            checked_texts([text or "" for text in replies], self._room(length))
            return replies

        try:
            replies = await self._chat(messages, read, max_tokens=length, **parameters)
        except RequestRefused as error:
            if not FILTERED.search(error.said):
                raise
            self.filtered += n
            return [""] * n
        found = [text for text in replies if text is not None]
        if len(found) < len(replies):
            if (room := self._room(length)) >= _MOST_ROOM:
                return [text or "" for text in replies]
            room = self.least["max_tokens"] = min(
                max(4 * room, _FIRST_ROOM), _MOST_ROOM
            )
            empty = {"parameter": "max_tokens", "reason": "empty reply", "least": room}
            self.refusals.append(empty)
        return found

    def _room(self, length: int) -> int:
        """Tokens that a reply may have."""
        return max(length, self.least.get("max_tokens", 0))

    async def first_tokens(self, messages: Messages) -> list[tuple[str, float]]:
        """The most probable first tokens of a reply with their probabilities."""
        how = {"max_tokens": 1, "temperature": 1.0, **PLAIN}
        return await self._chat(
            messages, listed_tokens, **how, logprobs=True, top_logprobs=LISTED
        )

    def lists_tokens(self) -> bool:
        """Whether log-probabilities come back: asked once, with a question of a word."""
        if self.lists is None and self.wire == "anthropic":
            self.lists = False
        if self.lists is None:
            self.client.probing = True
            try:
                self.client.run(self.first_tokens(_TRIAL))
                self.lists = True
            except Missing:
                self.lists = False
            except RequestRefused:
                if "logprobs" not in {one["parameter"] for one in self.refusals[-1:]}:
                    raise
                self.lists = False
            finally:
                self.client.probing = False
        return self.lists

    async def _chat(
        self, messages: Messages, read: Callable[[Any], T], **parameters: Any
    ) -> T:
        plain = [dict(message) for message in messages]
        body: dict[str, Any] = {"model": self.model, "messages": plain, **parameters}
        path = "chat/completions"
        if self.wire == "anthropic":
            path, body = "messages", as_anthropic(body)

        def noted(reply: Any) -> T:
            found = read(reply)
            # A name may stand for another model tomorrow.
            if isinstance(named := reply.get("model"), str):
                self.answered_by.add(named[:80])
            return found

        return await self.post(path, body, noted)

    async def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[Any], T]
    ) -> T:
        """Send, in the form that the server takes."""
        url = f"{self.client.address.base}/{path}"
        while True:
            sent = self._fit(body)
            try:
                found = await self.client.send("POST", url, sent, read)
            except RequestRefused as error:
                if self._fit(body) != sent:  # another request has learnt it meanwhile
                    continue
                if error.status not in _ADAPTABLE or not self._learn(sent, error):
                    raise
            else:
                self.sent = {k: v for k, v in sent.items() if k not in _CONTENT}
                self.any = True
                return found

    def _fit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request as the server takes it."""
        found: dict[str, Any] = {}
        for name, value in body.items():
            if name in self.left_out:
                continue
            if name in self.least:
                value = max(value, self.least[name])
            if name in self.most:
                value = min(value, self.most[name])
            if name == "messages" and not self.system:
                value = without_system(value)
            found[self.renamed.get(name, name)] = value
        return found

    def _learn(self, sent: Mapping[str, Any], error: RequestRefused) -> bool:
        """Whether there is another form to try; if so it is remembered."""
        said = error.said
        back = {new: old for old, new in self.renamed.items()}
        named = [back.get(name, name) for name in sent if _names(said, name)]
        if "logprobs" in sent and ("logprobs" in named or "top_logprobs" in named):
            most = _MOST.search(said)
            if most and "top_logprobs" in named and int(most[1]) < sent["top_logprobs"]:
                self._note(error, "top_logprobs", most=int(most[1]))
                self.most["top_logprobs"] = int(most[1])
                return True
            self._note(error, "logprobs")
            return False
        if error.status == 403:
            return False
        spare = [name for name in _SPARE if name in named]
        for name in spare if _SEVERAL.search(said) else spare[:1]:
            self._leave_out(error, name)
        if spare:
            return True
        if any(name in LENGTHS for name in named):
            return self._learn_length(sent, error)
        if "temperature" in named:
            if sent["temperature"] != 1.0:
                raise SettingsError(
                    f"{self.client.place}: takes no temperature {sent['temperature']:g}, only "
                    "the model's default; leave out temperature="
                )
            self._leave_out(error, "temperature")
            return True
        if "reasoning_effort" in named:
            raise SettingsError(
                f"{self.client.place}: takes no effort {sent['reasoning_effort']} for this "
                f"model; {error}"
            )
        if "n" in named:
            self._note(error, "n")
            return False
        if "messages" in sent and self.system and _SYSTEM.search(said):
            self._note(error, "system", instead="the user's message")
            self.system = False
            return True
        if self.any or FILTERED.search(said):
            return False
        wanted = {back.get(name, name) for name in sent}
        groups = ([name for name in some if name in wanted] for some in _UNNAMED)
        spare = next(filter(None, groups), [])
        for name in spare:
            self._leave_out(error, name, named=False)
        return bool(spare)

    def _learn_length(self, sent: Mapping[str, Any], error: RequestRefused) -> bool:
        name = next(name for name in LENGTHS if name in sent)
        other = next(other for other in LENGTHS if other != name)
        least = _LEAST.search(error.said)
        if other in error.said and "max_tokens" not in self.renamed:
            self._note(error, name, instead=other)
            self.renamed["max_tokens"] = other
            return True
        if least and int(least[1]) > sent[name]:
            self._note(error, name, least=int(least[1]))
            self.least["max_tokens"] = int(least[1])
            return True
        return False

    def _leave_out(self, error: RequestRefused, name: str, **how: Any) -> None:
        self._note(error, name, **how)
        self.left_out.append(name)

    def _note(self, error: RequestRefused, name: str, **how: Any) -> None:
        self.refusals.append({"parameter": name, "status": error.status, **how})


def _names(said: str, name: str) -> bool:
    """Whether a refusal names a parameter, as a name and not as a word of the prompt it repeats.

    >>> _names("Unsupported parameter: 'seed' is not supported", "seed")
    True
    >>> _names("Unrecognized request arguments supplied: min_p, top_k", "top_k")
    True
    >>> _names('{"message": "sow the seed"}', "seed")
    False
    """
    if name in _CONTENT:
        return False
    quoted = rf"""['"`]{name}\\?['"`]|(?<![\w.]){name}:|supplied: [\w, ]*\b{name}\b"""
    plain = rf"(?<!\w){name}(?!\w)" if len(name) > 6 else quoted
    return re.search(f"{quoted}|{plain}", said, re.I) is not None


def without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """What the system message says, at the beginning of the user's first message.

    >>> said = (("system", "Be kind."), ("user", "Hi"))
    >>> without_system([{"role": role, "content": content} for role, content in said])
    [{'role': 'user', 'content': 'Be kind.\\n\\nHi'}]
    """
    before = [m["content"] for m in messages if m["role"] == "system"]
    rest = [m for m in messages if m["role"] != "system"]
    if not before or not rest:
        return [{**m, "role": "user"} for m in messages] if before else rest
    return [
        {**rest[0], "content": "\n\n".join([*before, rest[0]["content"]])},
        *rest[1:],
    ]


def asked(text: str, *, question: bool) -> list[dict[str, str]]:
    """The messages for a conversation, a question, or a text to continue."""
    question = question or is_conversation(text)
    return messages_of(text if question else INSTRUCTION.format(text))


_TRIAL = ({"role": "user", "content": "Is water wet? Answer yes or no."},)


def as_anthropic(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request in Anthropic's format: the system message beside the others."""
    found = {name: body[name] for name in _ANTHROPIC if name in body}
    system = [m["content"] for m in body["messages"] if m["role"] == "system"]
    if system:
        found["system"] = "\n\n".join(system)
        found["messages"] = [m for m in body["messages"] if m["role"] != "system"]
    return found


def of_anthropic(reply: Any) -> str | None:
    """What Anthropic's Messages says; None if it was cut off before anything was said."""
    if not isinstance(reply["content"], list):
        raise WrongReply("not a message")
    text = _joined(reply["content"])
    return None if not text and reply.get("stop_reason") == "max_tokens" else text


def of_openai(choice: Any) -> str | None:
    """What a choice says; None if it was cut off before anything was said."""
    content = choice["message"].get("content")
    if isinstance(content, list):  # thoughts and texts apart
        content = _joined(content)
    text: str = content or choice["message"].get("refusal") or ""
    return None if not text and choice.get("finish_reason") == "length" else text


def _joined(parts: list[Any]) -> str:
    return "".join(part["text"] for part in parts if part.get("type") == "text")


def listed_tokens(reply: Any) -> list[tuple[str, float]]:
    """The tokens listed for the first place of a reply, with their probabilities."""
    log_probs = reply["choices"][0].get("logprobs")
    places = log_probs.get("content") if isinstance(log_probs, dict) else None
    if not places or not places[0].get("top_logprobs"):
        raise Missing("no log-probabilities")
    top = places[0]["top_logprobs"]
    tokens = checked_texts([place["token"] for place in top], 1)
    return [
        (t, math.exp(log_prob(p["logprob"]))) for t, p in zip(tokens, top, strict=True)
    ]


# --- The most probable first tokens of a reply: bounds for every word -----------------------------


class ChatTokenScorer(Scorer):
    """Scores words by the first tokens that a chat endpoint lists, one request a prompt."""

    blocks_at_once = 8

    def __init__(
        self, endpoint: ChatEndpoint, info: ModelInfo, *, question: bool
    ) -> None:
        bounds = f"bounds from the {LISTED} most probable first tokens"
        notes = (*info.notes, bounds, "asked through its chat endpoint")
        self.info = replace(info, notes=notes)
        self.endpoint, self.question, self.client = endpoint, question, endpoint.client

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """The provider's tokens are not known; a word is compared as text."""
        return WordReport(tokens={word: (word,) for word in words})

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        check_continued(self.info.name, prompts)
        work = [self._listed(prompt.before) for prompt in prompts]
        lists = self.endpoint.client.run(together(work, self.endpoint.client.halt))
        self.info = replace(self.info, request=self.endpoint.record())
        bounds = np.array([word_bounds(one, words) for one in lists])
        lower, upper = np.moveaxis(bounds, 1, 0)
        with np.errstate(divide="ignore"):
            return WordScores(
                log_probs=np.log(lower),
                log_coverage=np.log(lower.sum(axis=1)),
                skipped=np.zeros(len(prompts)),
                log_upper=np.log(upper),
            )

    async def _listed(self, text: str) -> list[tuple[str, float]]:
        kept = None if self.log is None else self.log.get(text, 0)
        if kept is None:
            kept = await self.endpoint.first_tokens(asked(text, question=self.question))
            if self.log is not None:
                self.log.put(text, 0, kept)
        listed = [(str(token), float(p)) for token, p in kept]
        total = math.fsum(p for _, p in listed)
        possible = all(0.0 <= p <= 1.0 + ROUNDING for _, p in listed)
        if not possible or total > 1.0 + len(listed) * ROUNDING:
            raise ModelError(
                f"{self.info.name}: the provider's probabilities sum to more than 1; --replies N "
                "samples N replies per context instead"
            )
        return listed


def word_bounds(
    listed: Sequence[tuple[str, float]], words: Sequence[str]
) -> tuple[list[float], list[float]]:
    """The least and the most probability of each word as the beginning of a reply.

    >>> low, high = word_bounds([("Yes", 0.6), (" No", 0.2), ("Y", 0.1)], ["Yes", "No"])
    >>> [round(p, 3) for p in low], [round(p, 3) for p in high]
    ([0.6, 0.2], [0.801, 0.301])
    """
    texts = [(token.strip(), p) for token, p in listed]
    rest = max(0.0, 1.0 - math.fsum(p for _, p in texts)) + ROUNDING
    low, high = [], []
    for word in words:
        whole = math.fsum(p for text, p in texts if text == word)
        begun = math.fsum(
            p for text, p in texts if text != word and word.startswith(text)
        )
        low.append(min(whole, 1.0))
        high.append(min(whole + begun + rest, 1.0))
    return low, high


# --- Sampled replies ------------------------------------------------------------------------------


#: For fewer samples in a request it is not worth giving up that each has its own seed.
_FEWEST = 16


class ServerSampler(AskingSampler):
    """Generates with a server. Parameters that it refuses are left out."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        info: ModelInfo,
        load: LoadOptions,
        options: SampleOptions,
        *,
        chat: bool,
    ) -> None:
        client = endpoint.client
        self.endpoint, self.chat = endpoint, chat
        self.question = load.chat_request == QUESTION
        self.opening = None
        if options.effort is not None and endpoint.wire == "anthropic":
            raise SettingsError(
                f"effort: {client.place} takes none; its models reason only on request, and "
                "none is made"
            )
        # Only the chat endpoint of a server takes an effort.
        own = client.address.provider is None and options.effort is None
        if chat and own and not options.automatic:
            named = load.server.tokenizer
            tokenizer = None if named is None else local_tokenizer(named, load)
            self.opening = find_opening(tokenizer, load, client, endpoint.model)
        if self.opening is not None:
            note = IN_TEMPLATE
        elif self.question:
            note = "queried through the server's own chat endpoint"
        else:
            note = "queried with an instruction to continue the text: the server takes no template"
        super().__init__(client, info, options, *((note,) if chat else ()))
        self.at_once = 1 if endpoint.wire == "anthropic" else options.replies

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        found = super().draw(texts)
        self.info = replace(self.info, request=self.endpoint.record())
        return found

    async def ask(self, text: str, number: int, n: int) -> list[str]:
        before = self.endpoint.least.get("max_tokens")
        try:
            found = await self._ask(text, number, n)
        except RequestRefused as error:
            if n == 1 or error.status in NO_ACCESS:
                raise
            half = n // 2  # OpenAI returns at most 128
            self.at_once = min(self.at_once, half if half >= _FEWEST else 1)
            return []
        if len(found) < n and before == self.endpoint.least.get("max_tokens"):
            self.at_once = 1  # the server ignores the number
        return found

    async def _ask(self, text: str, number: int, n: int) -> list[str]:
        parameters: dict[str, Any] = {
            "temperature": self.options.temperature,
            "seed": seed_for(self.options.seed, number, text),
            **PLAIN,
            **NO_CUTS,
            **({"n": n} if n > 1 else {}),
        }
        if is_conversation(text) or (self.chat and self.opening is None):
            messages = asked(text, question=self.question)
            if self.options.effort is not None:
                parameters["reasoning_effort"] = self.options.effort
            return await self.endpoint.ask(messages, self.options.tokens, **parameters)
        if self.options.effort is not None:
            raise SettingsError(
                "effort: expected questions or --chat, found texts to continue"
            )
        length = self.options.tokens
        body = {
            "model": self.endpoint.model,
            "prompt": in_opening(self.opening or "", text),
            "max_tokens": length,
            **parameters,
        }

        def read(reply: Any) -> list[str]:
            return checked_texts(
                [choice["text"] for choice in choices(reply, n)], length
            )

        return await self.endpoint.post("completions", body, read)


class ServerWriter:
    """One answer per request, several requests at a time; the name of the answering model is what
    the server reports."""

    def __init__(self, spec: ModelSpec, load: LoadOptions) -> None:
        self.client = Client(Address.parse(spec.target), load.server)
        self.endpoint = ChatEndpoint(
            self.client, str(served_model(self.client, spec.name)["id"])
        )
        self.info = ModelInfo(
            spec.name, "server", "served", dtype="served", device="server"
        )

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        messages = [{"role": role, "content": text} for role, text in turns]

        async def ask(number: int) -> str:
            while True:
                found = await self.endpoint.ask(
                    messages, length, temperature=temperature, seed=seed + number
                )
                if found:
                    return first_line(found[0])

        return self.client.run(together([ask(i) for i in range(n)]))

    def close(self) -> None:
        self.client.close()


# --- Which way a model is asked -------------------------------------------------------------------


def open_server(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Find out what the server serves and which routes work, in about ten requests."""
    price = price_of(spec.target, load.server.price)
    client = Client(Address.parse(spec.target), load.server, price)
    usage = load.begun.get("usage", {})
    if price is not None:
        client.paid_before = price.of(
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
    served = served_model(client, spec.name)
    info = ModelInfo(
        spec.name, "server", digest(served), dtype="served", device="server"
    )
    endpoint = ChatEndpoint(client, str(served["id"]), load.begun.get("request"))
    hosted, sampled = client.address.provider is not None, load.sampled
    if sampled is not None and not sampled.automatic:
        return ServerSampler(endpoint, info, load, sampled, chat=load.chat or hosted)
    if not hosted and not (sampled is not None and "request" in load.begun):
        try:
            return open_by_words(spec, client, served, info, load=load, words=words)
        except (Unsupported, ModelNotFound):
            named = load.server.tokenizer is not None or load.server.route is not None
            if sampled is None or named:
                raise
    info = replace(info, revision=f"{info.revision}, chat")
    if endpoint.lists_tokens():
        return ChatTokenScorer(endpoint, info, question=load.chat_request == QUESTION)
    if sampled is None:
        raise ModelError(
            f"{info.name}: lists no log-probabilities; --replies N samples instead"
        )
    return ServerSampler(endpoint, info, load, sampled, chat=True)
