"""Text from a server: samples of a continuation, and replies to a conversation.

Both use completions, or the chat endpoint where a model supports nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.execution.background import together
from clinometer.models.generation.chat import find_opening
from clinometer.models.generation.sampled import IN_TEMPLATE, SampledScorer
from clinometer.models.generation.writer import Turn, first_line, seed_for
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.server.client import (
    NO_ACCESS,
    Address,
    Client,
    RequestRefused,
    served_model,
)
from clinometer.models.server.reply import texts
from clinometer.models.tokens.local_tokenizer import local_tokenizer
from clinometer.models.tokens.word_tokens import in_opening

#: The instruction to a chat model for which we have no template.
INSTRUCTION = "Continue this text with the words that come next. Answer with these words only: {}"

#: The model's own distribution only: vLLM takes any setting missing here from the model's
#: generation_config.json. OpenAI-like servers refuse the second part.
_PLAIN = {"top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "stream": False}
NO_CUTS = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}

#: For fewer samples in a request it is not worth giving up that each has its own seed.
_FEWEST = 16


class ServerSampler(SampledScorer):
    """Generates with a server. Parameters that it refuses are left out."""

    def __init__(
        self, client: Client, model: str, info: ModelInfo, load: LoadOptions, options: SampleOptions
    ) -> None:
        self.client, self.model, self.chat = client, model, load.chat
        self.question = load.chat_request == QUESTION
        self.opening = None
        if load.chat:
            named = load.server.tokenizer
            tokenizer = None if named is None else local_tokenizer(named, load)
            self.opening = find_opening(tokenizer, load, server=(client, model))
        super().__init__(client, info, options, *self._notes())
        self._cuts: dict[str, Any] = dict(NO_CUTS)
        self._at_once = options.replies

    def _notes(self) -> tuple[str, ...]:
        if not self.chat:
            return ()
        if self.opening is not None:
            return (IN_TEMPLATE,)
        if self.question:
            return ("queried through the server's own chat endpoint",)
        return ("queried with an instruction to continue the text: the server takes no template",)

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        first = self.client.run(self._draw(texts[0]))  # learns what is refused
        return [first, *self.client.run(together([self._draw(text) for text in texts[1:]]))]

    async def _draw(self, text: str) -> list[str]:
        """All samples of one text, as many in a request as the server allows."""
        n = self.options.replies
        while True:
            size = self._at_once
            batches = [self._ask(text, n=min(size, n - i), number=i) for i in range(0, n, size)]
            try:
                replies = [reply for batch in await together(batches) for reply in batch]
            except RequestRefused as error:
                if size == 1 or error.status in NO_ACCESS:
                    raise
                half = size // 2  # OpenAI returns at most 128
                self._at_once = min(self._at_once, half if half >= _FEWEST else 1)
                continue
            if len(replies) == n:
                return replies
            self._at_once = 1  # the server ignores the number

    async def _ask(self, text: str, *, n: int, number: int) -> list[str]:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.options.tokens,
            "temperature": self.options.temperature,
            "seed": seed_for(self.options.seed, number, text),
            **_PLAIN,
            **({"n": n} if n > 1 else {}),
        }
        if self.chat and self.opening is None:
            url = f"{self.client.address.base}/chat/completions"
            request = text if self.question else INSTRUCTION.format(text)
            body["messages"] = [{"role": "user", "content": request}]
        else:
            url = f"{self.client.address.base}/completions"
            body["prompt"] = in_opening(self.opening or "", text)
        replies, self._cuts = await _post(self.client, url, body, self._cuts, n)
        return replies


async def _post(
    client: Client, url: str, body: dict[str, Any], extra: dict[str, Any], n: int
) -> tuple[list[str], dict[str, Any]]:
    """n texts, and the extra parameters: none where the server refuses them and takes the rest."""

    def read(reply: Any) -> list[str]:
        return texts(reply, n)

    try:
        return await client.post(url, {**body, **extra}, read), extra
    except RequestRefused as error:
        if error.status in NO_ACCESS or not extra:
            raise
    return await client.post(url, body, read), {}


class ServerWriter:
    """One answer per request, several requests at a time. The seed is left out for servers that
    refuse it; the name of the answering model is what the server reports."""

    def __init__(self, name: str, load: LoadOptions) -> None:
        self.client = Client(Address.parse(name.removeprefix("openai:")), load.server)
        self.model = str(served_model(self.client, name)["id"])
        self.info = ModelInfo(
            name=name, kind="server", revision="served", dtype="served", device="server"
        )
        self._seeded = True

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        body = {
            "model": self.model,
            "messages": [{"role": role, "content": text} for role, text in turns],
            "temperature": temperature,
            "max_tokens": length,
        }
        return self.client.run(together([self._ask(body, seed + i) for i in range(n)]))

    async def _ask(self, body: dict[str, Any], seed: int) -> str:
        url = f"{self.client.address.base}/chat/completions"
        extra = {"seed": seed} if self._seeded else {}
        (reply,), taken = await _post(self.client, url, body, extra, 1)
        self._seeded = bool(taken)
        return first_line(reply)

    def close(self) -> None:
        self.client.close()
