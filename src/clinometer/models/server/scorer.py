"""A model behind a server: words at the slot like any other causal model, or sampled text.

Opening finds the model, its tokenizer and what the server supports: the first route whose answers
are right is used. Samples and replies to a conversation use completions, or the chat endpoint where
a model supports nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clinometer.errors import ModelError, ModelNotFound, SettingsError
from clinometer.models.background import together
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client import (
    NO_ACCESS,
    Address,
    Client,
    Missing,
    RequestRefused,
    Unsupported,
    digest,
    served_model,
)
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, Turn, WordScores
from clinometer.models.providers import price_of
from clinometer.models.sampled import IN_TEMPLATE, AskingSampler, first_line, seed_for
from clinometer.models.scoring.causal_job import Job
from clinometer.models.scoring.word_scorer import WordScorer
from clinometer.models.server.chat import NO_CUTS, PLAIN, ChatEndpoint, ChatTokenScorer, asked
from clinometer.models.server.routes import (
    ROUTES,
    Bounds,
    Endpoint,
    Listed,
    Names,
    Question,
    Route,
    checked_texts,
    choices,
    server_tokenizer,
)
from clinometer.models.tokens import Tokens, WordList, in_opening, in_template, local_tokenizer
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt
from clinometer.topics.conversation import is_conversation

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
        if chat and client.address.provider is None and options.effort is None:
            named = load.server.tokenizer
            tokenizer = None if named is None else local_tokenizer(named, load)
            if not options.automatic:
                self.opening = find_opening(tokenizer, load, client, endpoint.model)
        super().__init__(client, info, options, *self._notes())
        self.at_once = 1 if endpoint.wire == "anthropic" else options.replies

    def _notes(self) -> tuple[str, ...]:
        if not self.chat:
            return ()
        if self.opening is not None:
            return (IN_TEMPLATE,)
        if self.question:
            return ("queried through the server's own chat endpoint",)
        return ("queried with an instruction to continue the text: the server takes no template",)

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        found = super().draw(texts)
        self.info = replace(self.info, request=self.endpoint.record())
        return found

    async def ask(self, text: str, number: int, n: int) -> list[str]:
        before = self.endpoint.accepted.least.get("max_tokens")
        try:
            found = await self._ask(text, number, n)
        except RequestRefused as error:
            if n == 1 or error.status in NO_ACCESS:
                raise
            half = n // 2  # OpenAI returns at most 128
            self.at_once = min(self.at_once, half if half >= _FEWEST else 1)
            return []
        if len(found) < n and before == self.endpoint.accepted.least.get("max_tokens"):
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
            raise SettingsError("effort: expected questions or --chat, found texts to continue")
        length = self.options.tokens
        body = {
            "model": self.endpoint.model,
            "prompt": in_opening(self.opening or "", text),
            "max_tokens": length,
            **parameters,
        }
        url = f"{self.client.address.base}/completions"

        def read(reply: Any) -> list[str]:
            return checked_texts([choice["text"] for choice in choices(reply, n)], length)

        return await self.endpoint.accepted.post(url, body, read)


class ServerWriter:
    """One answer per request, several requests at a time; the name of the answering model is what
    the server reports."""

    def __init__(self, spec: ModelSpec, load: LoadOptions) -> None:
        self.client = Client(Address.parse(spec.target), load.server)
        self.endpoint = ChatEndpoint(self.client, str(served_model(self.client, spec.name)["id"]))
        self.info = ModelInfo(spec.name, "server", "served", dtype="served", device="server")

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


# --- Words at the slot ----------------------------------------------------------------------------


#: Tolerance of the sum of a server's probabilities, which may be in half precision.
_ROUNDING = 1e-2
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
        if most > 1 + _ROUNDING:
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
            if error.status in NO_ACCESS:
                raise
            reason = str(error)
            continue
        finally:
            endpoint.client.probing = False
        _check_list(endpoint, top.values())
        return replace(endpoint, top_k=min(k, len(top.values()))), top
    raise Unsupported(
        f"{endpoint.client.place}: returns no log-probabilities for a prompt of "
        f"token ids; --replies N samples answers instead ({reason})"
    )


def _check_list(endpoint: Endpoint, values: list[float]) -> None:
    """Refuse a list of most probable tokens that cannot be one."""
    total = sum(math.exp(v) for v in values)
    if total > 1 + _SLACK or (len(values) > 2 and len(set(values)) == 1):
        raise ModelError(
            f"{endpoint.client.place}: expected log-probabilities, found "
            f"{len(values)} tokens with a probability of {total:.3g} together, the first with "
            f"{values[0]:.3g}: --replies N samples answers instead"
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


def open_server(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Find out what the server serves and which routes work, in about ten requests."""
    if words.end_of_word:
        raise SettingsError(
            f"model {spec.name!r}: --end-of-word needs the probability of every token that can end "
            "a word, which no server returns; leave it out"
        )
    price = price_of(spec.target, load.server.price)
    client = Client(Address.parse(spec.target), load.server, price)
    usage = load.begun.get("usage", {})
    if price is not None:
        client.paid_before = price.of(usage.get("tokens_read", 0), usage.get("tokens_written", 0))
    try:
        return _open(spec, client, load=load, words=words)
    except BaseException:
        client.close()
        raise


def _open(spec: ModelSpec, client: Client, *, load: LoadOptions, words: WordOptions) -> Scorer:
    served = served_model(client, spec.name)
    info = ModelInfo(spec.name, "server", digest(served), dtype="served", device="server")
    endpoint = ChatEndpoint(client, str(served["id"]), load.begun.get("request"))
    hosted, sampled = client.address.provider is not None, load.sampled
    if sampled is not None and not sampled.automatic:
        return ServerSampler(endpoint, info, load, sampled, chat=load.chat or hosted)
    if sampled is not None and (hosted or "request" in load.begun):
        return _through_chat(endpoint, info, load, sampled)
    if hosted:  # opened without an audit
        return _through_chat(endpoint, info, load, None)
    try:
        return _by_words(spec, client, served, info, load=load, words=words)
    except (Unsupported, ModelNotFound):
        named = load.server.tokenizer is not None or load.server.route is not None
        if sampled is None or named:
            raise
    return _through_chat(endpoint, info, load, sampled)


def _through_chat(
    endpoint: ChatEndpoint, info: ModelInfo, load: LoadOptions, sampled: SampleOptions | None
) -> Scorer:
    """By the first tokens that the chat endpoint lists, or else by sampled replies."""
    info = replace(info, revision=f"{info.revision}, chat")
    if endpoint.lists_tokens():
        question = load.chat_request == QUESTION
        return ChatTokenScorer(endpoint, info, question=question)
    if sampled is None:
        raise ModelError(f"{info.name}: lists no log-probabilities; --replies N samples instead")
    return ServerSampler(endpoint, info, load, sampled, chat=True)


def _by_words(
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
    name = load.server.tokenizer
    tokenizer: Any
    if name is not None:
        tokenizer = local_tokenizer(name, load)
    else:
        tokenizer = server_tokenizer(client, model, spec.name)
    chat = find_opening(tokenizer, load, client, model) if load.chat else None
    if load.chat and chat is None:
        raise ModelError(
            f"model {spec.name!r}: has no chat template; score it without --chat, or name a "
            "tokenizer that has one with --load tokenizer=NAME"
        )
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
            "one with --load tokenizer=NAME"
        )
    route = client.run(choose_route(endpoint, path, rare, wanted=load.server.route))
    exact = "exact" if route.exact else f"the {route.endpoint.top_k} most probable tokens only"
    how = f"queried by the route {route.name}: {exact}"
    meta = served.get("meta") or {}
    info = replace(
        info,
        revision=f"{info.revision}, {route.name}",
        parameters=meta.get("n_params"),
        notes=(how,),
    )
    limit = meta.get("n_ctx") or served.get("max_model_len")
    return ServerScorer(
        route,
        tokenizer,
        info,
        options=words,
        chat=chat,
        length_limit=limit - 1 if limit else None,
    )


# --- The server's chat template -------------------------------------------------------------------


def find_opening(tokenizer: Any, load: LoadOptions, client: Client, model: str) -> str | None:
    """The text before the assistant's turn, in the template of the tokenizer or of the server; None
    if neither has one."""
    messages = [{"role": "user", "content": load.chat_request}]
    written = in_template(tokenizer, messages)
    return server_template(client, model, messages) if written is None else written


def server_template(client: Client, model: str, messages: list[dict[str, str]]) -> str | None:
    """The messages inside the server's chat template; None if the server does not apply it.

    llama.cpp returns the text on request; vLLM returns its tokens, and the text of tokens.
    """
    body = {
        "model": model,
        "messages": messages,
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    root = client.address.root
    written = _asked(client, f"{root}/apply-template", body, "prompt")
    if written is None:
        tokens = _asked(client, f"{root}/tokenize", body, "tokens")
        if tokens is not None:
            back = {"model": model, "tokens": tokens}
            written = _asked(client, f"{root}/detokenize", back, "prompt")
    # A server without chat support may ignore the messages.
    whole = isinstance(written, str) and all(m["content"] in written for m in messages)
    return str(written) if whole else None


def _asked(client: Client, url: str, body: dict[str, Any], name: str) -> Any:
    try:
        return client.run(client.post(url, body, lambda reply: reply.get(name)))
    except (RequestRefused, ModelNotFound):
        return None
