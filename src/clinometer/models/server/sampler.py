"""Text from a server: samples of a continuation, and replies to a conversation.

Both use completions, or the chat endpoint where a model supports nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models.background import together
from clinometer.models.generation.asking import AskingSampler
from clinometer.models.generation.chat import find_opening
from clinometer.models.generation.sampled import IN_TEMPLATE
from clinometer.models.generation.writer import Turn, first_line, seed_for
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.server.accepted import NO_CUTS, PLAIN
from clinometer.models.server.chat import ChatEndpoint, asked
from clinometer.models.server.client import (
    NO_ACCESS,
    Address,
    Client,
    RequestRefused,
    served_model,
)
from clinometer.models.server.providers import hosted
from clinometer.models.server.reply import texts
from clinometer.models.tokens.local_tokenizer import local_tokenizer
from clinometer.models.tokens.word_tokens import in_opening
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
        self.client, self.endpoint, self.chat = client, endpoint, chat
        self.question = load.chat_request == QUESTION
        self.opening = None
        if options.effort is not None and endpoint.wire == "anthropic":
            raise SettingsError(
                f"--effort: {client.place} takes none; its models reason only on request, and "
                "none is made"
            )
        # Only the chat endpoint of a server takes an effort.
        if chat and client.address.provider is None and options.effort is None:
            named = load.server.tokenizer
            tokenizer = None if named is None else local_tokenizer(named, load)
            server = (client, endpoint.model)
            self.opening = (
                None if options.automatic else find_opening(tokenizer, load, server=server)
            )
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
            raise SettingsError("--effort: expected questions or --chat, found texts to continue")
        length = self.options.tokens
        body = {
            "model": self.endpoint.model,
            "prompt": in_opening(self.opening or "", text),
            "max_tokens": length,
            **parameters,
        }
        url = f"{self.client.address.base}/completions"
        return await self.endpoint.accepted.post(url, body, lambda reply: texts(reply, n, length))


class ServerWriter:
    """One answer per request, several requests at a time; the name of the answering model is what
    the server reports."""

    def __init__(self, name: str, load: LoadOptions) -> None:
        target = name if hosted(name) else name.removeprefix("openai:")
        self.client = Client(Address.parse(target), load.server)
        self.endpoint = ChatEndpoint(self.client, str(served_model(self.client, name)["id"]))
        self.info = ModelInfo(
            name=name, kind="server", revision="served", dtype="served", device="server"
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
