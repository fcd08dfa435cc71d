"""Answers to conversations, written by a model behind a server."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client.address import Address
from clinometer.models.client.client import Client
from clinometer.models.event_loop import together
from clinometer.models.options import LoadOptions
from clinometer.models.protocol import ModelInfo, Turn
from clinometer.models.sampled import first_line
from clinometer.models.server.chat import ChatEndpoint
from clinometer.models.server.served import served_model


class ServerWriter:
    """One answer per request, several requests at a time.

    The name of the answering model is what the server reports.
    """

    def __init__(self, spec: ModelSpec, load: LoadOptions) -> None:
        self.client = Client(Address.parse(spec.target), load.server)
        served = served_model(self.client, spec.name)
        self.endpoint = ChatEndpoint(self.client, str(served["id"]))
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
                answers = await self.endpoint.ask(
                    messages, length, temperature=temperature, seed=seed + number
                )
                if answers:
                    return first_line(answers[0])

        return self.client.run(together([ask(i) for i in range(n)]))

    def close(self) -> None:
        self.client.close()
