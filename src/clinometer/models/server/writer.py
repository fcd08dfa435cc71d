"""Answers of a model behind an OpenAI-compatible server (chat completions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.execution.event_loop import together
from clinometer.models.generation.writer import Turn, first_line
from clinometer.models.options import LoadOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.server.address import Address
from clinometer.models.server.client import Client, RequestRefused
from clinometer.models.server.reply import texts
from clinometer.models.server.served_model import served_model


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
