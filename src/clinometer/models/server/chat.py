"""The chat endpoint of a server or provider: messages in, replies or first tokens out.

Two wire formats: OpenAI's chat completions, which nearly all speak, and Anthropic's Messages.

Providers take the same request with different parameters: one wants max_completion_tokens, another
no seed, a third temperature or top_p but not both. Lists of who takes what are out of date when
they are written, and a refusal names the parameter. So a request is sent with all that matters;
what is refused is renamed, changed or left out, one refusal at a time, and remembered with the run.

`open_server` finds out whether words can be scored (`routes`), first tokens are listed, or replies
are sampled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

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
from clinometer.models.server.routes import (
    ROUNDING,
    checked_texts,
    choices,
    find_opening,
    log_prob,
    open_by_words,
)
from clinometer.models.tokens import in_opening, local_tokenizer
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt
from clinometer.topics.conversation import is_conversation, messages_of

T = TypeVar("T")
Messages = Sequence[Mapping[str, str]]

#: The model's own distribution only: vLLM takes any setting missing here from the model's
#: generation_config.json.
PLAIN = {"top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "stream": False}
NO_CUTS = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}

#: What may be left out, what matters least first. A temperature may be left out if it is 1, which
#: is every provider's default.
_SPARE = (*NO_CUTS, "presence_penalty", "frequency_penalty", "stream", "top_p", "seed")
#: Left out together before a server has accepted anything, if its refusal names nothing.
_UNNAMED = (tuple(NO_CUTS), ("presence_penalty", "frequency_penalty", "top_p"), ("seed",))
#: What a request is about; never left out, and no name to look for in a sentence.
_CONTENT = ("model", "messages", "prompt", "system")
#: Statuses of a request that another form of it may pass.
_ADAPTABLE = (400, 403, 422)

_SEVERAL = re.compile(r"extra_forbidden|unrecognized|unknown name|unexpected keyword", re.I)
_LEAST = re.compile(
    r"(?:>=|at least|minimum(?: value)? (?:is|of)|greater than or equal to)\D{0,3}(\d+)", re.I
)
_MOST = re.compile(
    r"(?:<=|at most|maximum(?: value)? (?:is|of)|less than or equal to)\D{0,3}(\d+)", re.I
)
_SYSTEM = re.compile(r"system.{0,20}role|role.{0,40}system", re.I)
FILTERED = re.compile(r"content_?filter|content management policy|content_policy", re.I)

#: As many as providers list (OpenAI, Google, llama.cpp, vLLM).
LISTED = 20

#: The instruction to a chat model that should continue a text.
INSTRUCTION = "Continue this text with the words that come next. Answer with these words only: {}"

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
            "sent": {**self.sent, **({seed: "one a request"} if seed in self.sent else {})},
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

    async def ask(self, messages: Messages, length: int, **parameters: Any) -> list[str]:
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
            room = self.least["max_tokens"] = min(max(4 * room, _FIRST_ROOM), _MOST_ROOM)
            empty = {"parameter": "max_tokens", "reason": "empty reply", "least": room}
            self.refusals.append(empty)
        return found

    def _room(self, length: int) -> int:
        """Tokens that a reply may have."""
        return max(length, self.least.get("max_tokens", 0))

    async def first_tokens(self, messages: Messages) -> list[tuple[str, float]]:
        """The most probable first tokens of a reply with their probabilities."""
        how = {"max_tokens": 1, "temperature": 1.0, **PLAIN}
        return await self._chat(messages, listed_tokens, **how, logprobs=True, top_logprobs=LISTED)

    def lists_tokens(self) -> bool:
        """Whether log-probabilities come back: asked once, with a question of a word."""
        if self.lists is None and self.wire == "anthropic":
            self.lists = False
        if self.lists is None:
            self.client.probing = True
            try:
                self.client.run(self.first_tokens(_PROBE))
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

    async def _chat(self, messages: Messages, read: Callable[[Any], T], **parameters: Any) -> T:
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

    async def post(self, path: str, body: Mapping[str, Any], read: Callable[[Any], T]) -> T:
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
    return [{**rest[0], "content": "\n\n".join([*before, rest[0]["content"]])}, *rest[1:]]


def asked(text: str, *, question: bool) -> list[dict[str, str]]:
    """The messages for a conversation, a question, or a text to continue."""
    question = question or is_conversation(text)
    return messages_of(text if question else INSTRUCTION.format(text))


_PROBE = ({"role": "user", "content": "Is water wet? Answer yes or no."},)


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
    return [(t, math.exp(log_prob(p["logprob"]))) for t, p in zip(tokens, top, strict=True)]


# --- The most probable first tokens of a reply: bounds for every word -----------------------------


class ChatTokenScorer(Scorer):
    """Scores words by the first tokens that a chat endpoint lists, one request a prompt."""

    blocks_at_once = 8

    def __init__(self, endpoint: ChatEndpoint, info: ModelInfo, *, question: bool) -> None:
        bounds = f"bounds from the {LISTED} most probable first tokens"
        notes = (*info.notes, bounds, "asked through its chat endpoint")
        self.info = replace(info, notes=notes)
        self.endpoint, self.question, self.client = endpoint, question, endpoint.client

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """The provider's tokens are not known; a word is compared as text."""
        return WordReport(tokens={word: (word,) for word in words})

    def score(
        self, prompts: Sequence[Prompt], words: Sequence[str], counts: FloatArray | None = None
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
        begun = math.fsum(p for text, p in texts if text != word and word.startswith(text))
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
            raise SettingsError("effort: expected questions or --chat, found texts to continue")
        length = self.options.tokens
        body = {
            "model": self.endpoint.model,
            "prompt": in_opening(self.opening or "", text),
            "max_tokens": length,
            **parameters,
        }

        def read(reply: Any) -> list[str]:
            return checked_texts([choice["text"] for choice in choices(reply, n)], length)

        return await self.endpoint.post("completions", body, read)


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


# --- Which way a model is asked -------------------------------------------------------------------


def open_server(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Find out what the server serves and which routes work, in about ten requests."""
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
        raise ModelError(f"{info.name}: lists no log-probabilities; --replies N samples instead")
    return ServerSampler(endpoint, info, load, sampled, chat=True)
