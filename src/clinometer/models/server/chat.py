"""The chat endpoint of a server or provider: messages in, replies or first tokens out.

Two wire formats: OpenAI's chat completions, which nearly all speak, and Anthropic's Messages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clinometer.models.background import settled
from clinometer.models.generation.first_token import LISTED, FirstTokenScorer
from clinometer.models.protocol import ModelInfo
from clinometer.models.server.accepted import FILTERED, PLAIN, Accepted
from clinometer.models.server.client import Client, Missing, RequestRefused, WrongReply
from clinometer.models.server.reply import LONGEST_TOKEN
from clinometer.storage.reply_log import ReplyLog
from clinometer.topics.conversation import is_conversation, messages_of

Messages = Sequence[Mapping[str, str]]

#: The instruction to a chat model that should continue a text.
INSTRUCTION = "Continue this text with the words that come next. Answer with these words only: {}"

#: Parameters of Anthropic's Messages; it has no others of ours.
_ANTHROPIC = ("model", "messages", "max_tokens", "temperature")
#: Room for a reply after hidden tokens have left none: at first, and at most.
_FIRST_ROOM, _MOST_ROOM = 512, 16_384


def asked(text: str, *, question: bool) -> list[dict[str, str]]:
    """The messages for a conversation, a question, or a text to continue."""
    question = question or is_conversation(text)
    return messages_of(text if question else INSTRUCTION.format(text))


@dataclass(frozen=True)
class Reply:
    """A text, and whether it was cut off before anything was said."""

    text: str
    without_room: bool = False


class ChatEndpoint:
    """Asks one model, with what its server accepts."""

    def __init__(
        self, client: Client, model: str, earlier: Mapping[str, Any] | None = None
    ) -> None:
        self.client, self.model = client, model
        self.accepted = Accepted(client, earlier)
        provider = client.address.provider
        self.wire = "openai" if provider is None else provider.wire
        self.filtered = 0
        self.lists: bool | None = (earlier or {}).get("lists")
        self.answered_by: set[str] = set((earlier or {}).get("answered_by", ()))

    def record(self) -> dict[str, Any]:
        """For run.json: what was sent, what was refused, and which model says it answered."""
        extra: dict[str, Any] = {"filtered": self.filtered} if self.filtered else {}
        if self.lists is not None:
            extra["lists"] = self.lists
        return {**self.accepted.record(), "answered_by": sorted(self.answered_by), **extra}

    async def ask(self, messages: Messages, length: int, **parameters: Any) -> list[str]:
        """One text per reply; "" for one that the provider's filter withheld. Replies that hidden
        tokens left no room for are missing, and the next request has more room."""
        n = parameters.get("n", 1)
        try:
            replies = await self._post(messages, length, parameters, n)
        except RequestRefused as error:
            if not FILTERED.search(error.said):
                raise
            self.filtered += n
            return [""] * n
        found = [reply.text for reply in replies if not reply.without_room]
        if len(found) < len(replies) and not self._make_room(length):
            return [reply.text for reply in replies]
        return found

    def _make_room(self, length: int) -> bool:
        """Whether there is more room for the next request."""
        room = max(length, self.accepted.least.get("max_tokens", 0))
        if room >= _MOST_ROOM:
            return False
        self.accepted.make_room(min(max(4 * room, _FIRST_ROOM), _MOST_ROOM))
        return True

    async def _post(
        self, messages: Messages, length: int, parameters: Mapping[str, Any], n: int
    ) -> list[Reply]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": length,
            **parameters,
        }

        def read(reply: Any) -> list[Reply]:
            found = of_anthropic(reply) if self.wire == "anthropic" else of_openai(reply, n)
            room = max(length, self.accepted.least.get("max_tokens", 0))
            if any(len(one.text) > LONGEST_TOKEN * (room + 1) for one in found):
                raise WrongReply("more text than its tokens can have")
            self._note_model(reply)
            return found

        if self.wire == "anthropic":
            url, body = f"{self.client.address.base}/messages", as_anthropic(body)
        else:
            url = f"{self.client.address.base}/chat/completions"
        return await self.accepted.post(url, body, read)

    async def first_tokens(self, messages: Messages) -> list[tuple[str, float]]:
        """The most probable first tokens of a reply with their probabilities."""
        body = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": 1,
            "temperature": 1.0,
            **PLAIN,
            "logprobs": True,
            "top_logprobs": LISTED,
        }

        def read(reply: Any) -> list[tuple[str, float]]:
            found = listed_tokens(reply)
            self._note_model(reply)
            return found

        return await self.accepted.post(f"{self.client.address.base}/chat/completions", body, read)

    def _note_model(self, reply: Any) -> None:
        """Which model says that it answered: a name may stand for another one tomorrow."""
        if isinstance(named := reply.get("model"), str):
            self.answered_by.add(named[:80])

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
                if "logprobs" not in {one["parameter"] for one in self.accepted.refusals[-1:]}:
                    raise
                self.lists = False
            finally:
                self.client.probing = False
        return self.lists


_PROBE = ({"role": "user", "content": "Is water wet? Answer yes or no."},)


def as_anthropic(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request in Anthropic's format: the system message beside the others."""
    found = {name: body[name] for name in _ANTHROPIC if name in body}
    system = [m["content"] for m in body["messages"] if m["role"] == "system"]
    if system:
        found["system"] = "\n\n".join(system)
        found["messages"] = [m for m in body["messages"] if m["role"] != "system"]
    return found


def of_anthropic(reply: Any) -> list[Reply]:
    """What Anthropic's Messages says."""
    parts = reply["content"]
    text = "".join(part["text"] for part in parts if part.get("type") == "text")
    if not isinstance(parts, list):
        raise WrongReply("not a message")
    return [Reply(text, not text and reply.get("stop_reason") == "max_tokens")]


def of_openai(reply: Any, most: int) -> list[Reply]:
    """What the choices of a chat completion say, at least one and at most as many as requested."""
    choices = reply["choices"]
    if not 1 <= len(choices) <= most:
        raise WrongReply("not as many choices as asked for")
    return [_reply(choice) for choice in choices]


def _reply(choice: Any) -> Reply:
    content = choice["message"].get("content")
    if isinstance(content, list):  # thoughts and texts apart
        content = "".join(part.get("text", "") for part in content if part.get("type") == "text")
    if not content:
        content = choice["message"].get("refusal") or ""
    if not isinstance(content, str):
        raise WrongReply("a choice without text")
    return Reply(content, not content and choice.get("finish_reason") == "length")


def listed_tokens(reply: Any) -> list[tuple[str, float]]:
    """The tokens listed for the first place of a reply, with their probabilities."""
    log_probs = reply["choices"][0].get("logprobs")
    places = log_probs.get("content") if isinstance(log_probs, dict) else None
    if not places or not places[0].get("top_logprobs"):
        raise Missing("no log-probabilities")
    found = []
    for one in places[0]["top_logprobs"]:
        number = float(one["logprob"])
        if math.isnan(number) or number > 1e-3 or not isinstance(one["token"], str):
            raise WrongReply("not a log-probability")
        found.append((one["token"], math.exp(number)))
    return found


class ChatTokenScorer(FirstTokenScorer):
    """Scores words by the first tokens that a chat endpoint lists, one request a prompt."""

    def __init__(self, endpoint: ChatEndpoint, info: ModelInfo, *, question: bool) -> None:
        super().__init__(endpoint.client, info, "asked through its chat endpoint")
        self.endpoint, self.question = endpoint, question
        self.log: ReplyLog | None = None

    def close(self) -> None:
        if self.log is not None:
            self.log.close()
        super().close()

    def listed(self, texts: Sequence[str]) -> list[list[tuple[str, float]]]:
        found = self.endpoint.client.run(
            settled([self._listed(text) for text in texts], self.endpoint.client.halt)
        )
        self.info = replace(self.info, request=self.endpoint.record())
        return found

    async def _listed(self, text: str) -> list[tuple[str, float]]:
        if self.log is not None and (known := self.log.get(text, 0)) is not None:
            return [(str(token), float(p)) for token, p in known]
        found = await self.endpoint.first_tokens(asked(text, question=self.question))
        if self.log is not None:
            self.log.put(text, 0, found)
        return found
