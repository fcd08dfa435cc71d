"""Text from a server: samples of a continuation, and replies to a conversation.

Both use completions, or the chat endpoint where a model supports nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.execution.background import together
from clinometer.models.generation.chat import find_opening
from clinometer.models.generation.sampled import Sampler
from clinometer.models.generation.writer import Turn, first_line, seed_for
from clinometer.models.options import QUESTION, LoadOptions, SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.server.client import Address, Client, RequestRefused, served_model
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


class ServerSampler(Sampler):
    """Generates with a server. Parameters that it refuses are left out."""

    def __init__(self, client: Client, model: str, load: LoadOptions) -> None:
        self.client, self.model = client, model
        self.chat, self.question = load.chat, load.chat_request == QUESTION
        self.opening = None
        if load.chat:
            named = load.server.tokenizer
            tokenizer = None if named is None else local_tokenizer(named, load)
            self.opening = find_opening(tokenizer, load, server=(client, model))
        self._cuts: dict[str, Any] = dict(NO_CUTS)
        self._at_once = 1 if load.sampled is None else load.sampled.replies

    def notes(self) -> tuple[str, ...]:
        if not self.chat:
            return ()
        if self.opening is not None:
            return ("scored inside its chat template",)
        if self.question:
            return ("queried through the server's own chat endpoint",)
        return ("queried with an instruction to continue the text: the server takes no template",)

    def usage(self) -> dict[str, int]:
        return self.client.usage()

    def close(self) -> None:
        self.client.close()

    def draw(self, texts: Sequence[str], options: SampleOptions) -> list[list[str]]:
        first = self.client.run(self._draw(texts[0], options))  # learns what is refused
        rest = self.client.run(together([self._draw(text, options) for text in texts[1:]]))
        return [first, *rest]

    async def _draw(self, text: str, options: SampleOptions) -> list[str]:
        """All samples of one text, as many in a request as the server allows."""
        while True:
            size = self._at_once
            try:
                found = await self._in_batches(text, options, size)
            except RequestRefused as error:
                if size == 1 or error.status in (401, 403):
                    raise
                half = size // 2  # OpenAI returns at most 128
                self._at_once = min(self._at_once, half if half >= _FEWEST else 1)
                continue
            if len(found) == options.replies:
                return found
            self._at_once = 1  # the server ignores the number

    async def _in_batches(self, text: str, options: SampleOptions, size: int) -> list[str]:
        starts = range(0, options.replies, size)
        work = [
            self._ask(text, options, n=min(size, options.replies - i), number=i) for i in starts
        ]
        return [drawn for one in await together(work) for drawn in one]

    async def _ask(
        self, text: str, options: SampleOptions, *, n: int = 1, number: int = 0
    ) -> list[str]:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": options.tokens,
            "temperature": options.temperature,
            "seed": seed_for(options.seed, number, text),
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

        def read(reply: Any) -> list[str]:
            return texts(reply, n)

        try:
            return await self.client.post(url, {**body, **self._cuts}, read)
        except RequestRefused as error:
            if error.status in (401, 403) or not self._cuts:
                raise
        found = await self.client.post(url, body, read)
        self._cuts = {}
        return found


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
            "messages": [{"role": role, "content": said} for role, said in turns],
            "temperature": temperature,
            "max_tokens": length,
        }
        asked = [self._ask(body, seed + i) for i in range(n)]
        return self.client.run(together(asked))

    async def _ask(self, body: dict[str, Any], seed: int) -> str:
        url = f"{self.client.address.base}/chat/completions"

        def read(reply: Any) -> str:
            return first_line(texts(reply, 1)[0])

        if self._seeded:
            try:
                return await self.client.post(url, {**body, "seed": seed}, read)
            except RequestRefused as error:
                if error.status in (401, 403):
                    raise
        found = await self.client.post(url, body, read)
        self._seeded = False
        return found

    def close(self) -> None:
        self.client.close()
