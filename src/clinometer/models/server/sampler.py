"""Replies sampled by a server, through its chat endpoint or as completions of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models.asking import AskingSampler
from clinometer.models.client.failures import NO_ACCESS, RequestRefused
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.sampled import IN_TEMPLATE, seed_for
from clinometer.models.server.chat import ChatEndpoint
from clinometer.models.server.reply import checked_texts, choices
from clinometer.models.server.request import NO_CUTS, PLAIN, messages_for
from clinometer.models.server.template import find_opening
from clinometer.models.tokens import in_opening, local_tokenizer
from clinometer.topics.conversation import is_conversation

_FEWEST = 16
"""For fewer samples in a request it is not worth giving up that each has its own seed."""


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
        if options.effort is not None and not endpoint.wire.takes_effort:
            raise SettingsError(
                f"effort: {client.place} takes none; its models reason only on request, and "
                "none is made"
            )
        self.endpoint = endpoint
        self.chat = chat
        self.question = load.chat_request == QUESTION
        self.opening: str | None = None
        # Only the chat endpoint of a server takes an effort.
        own_server = client.address.provider is None and options.effort is None
        if chat and own_server and not options.automatic:
            self.opening = _opening(endpoint, load)
        notes = (self._how_asked(),) if chat else ()
        super().__init__(client, info, options, *notes)
        if endpoint.wire.several_replies:
            self.replies_per_request = options.replies

    def _how_asked(self) -> str:
        """Return how a chat model is asked, for the reader of a report."""
        if self.opening is not None:
            return IN_TEMPLATE
        if self.question:
            return "queried through the server's own chat endpoint"
        return "queried with an instruction to continue the text: the server takes no template"

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        replies = super().draw(texts)
        self.info = replace(self.info, request=self.endpoint.record())
        return replies

    async def ask(self, text: str, number: int, n: int) -> list[str]:
        room_before = self.endpoint.form.least.get("max_tokens")
        try:
            replies = await self._ask(text, number, n)
        except RequestRefused as error:
            if n == 1 or error.status in NO_ACCESS:
                raise
            half = n // 2  # OpenAI returns at most 128
            fewer = half if half >= _FEWEST else 1
            self.replies_per_request = min(self.replies_per_request, fewer)
            return []
        same_room = room_before == self.endpoint.form.least.get("max_tokens")
        if len(replies) < n and same_room:
            self.replies_per_request = 1  # the server ignores the number
        return replies

    async def _ask(self, text: str, number: int, n: int) -> list[str]:
        """Send one request for n replies, in the way that the text and the model need."""
        parameters: dict[str, Any] = {
            "temperature": self.options.temperature,
            "seed": seed_for(self.options.seed, number, text),
            **PLAIN,
            **NO_CUTS,
        }
        if n > 1:
            parameters["n"] = n
        if is_conversation(text) or (self.chat and self.opening is None):
            return await self._ask_chat(text, parameters)
        return await self._ask_completion(text, n, parameters)

    async def _ask_chat(self, text: str, parameters: dict[str, Any]) -> list[str]:
        """Ask the chat endpoint."""
        messages = messages_for(text, question=self.question)
        if self.options.effort is not None:
            parameters["reasoning_effort"] = self.options.effort
        return await self.endpoint.ask(messages, self.options.tokens, **parameters)

    async def _ask_completion(
        self, text: str, n: int, parameters: dict[str, Any]
    ) -> list[str]:
        """Ask for continuations of the text, after the opening of the chat template if any."""
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
            texts = [choice["text"] for choice in choices(reply, n)]
            return checked_texts(texts, length)

        return await self.endpoint.post("completions", body, read)


def _opening(endpoint: ChatEndpoint, load: LoadOptions) -> str | None:
    """Return the text before the assistant's turn, of the named tokenizer or of the server."""
    name = load.server.tokenizer
    tokenizer = None if name is None else local_tokenizer(name, load)
    return find_opening(tokenizer, load, endpoint.client, endpoint.model)
