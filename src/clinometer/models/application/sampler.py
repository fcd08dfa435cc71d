"""What an application replies, asked through the client of servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from clinometer.errors import ModelError
from clinometer.models.asking import AskingSampler
from clinometer.models.catalog.revisions import revision_of
from clinometer.models.catalog.spec import APPLICATION, ModelSpec
from clinometer.models.client.client import Client
from clinometer.models.client.failures import NO_ACCESS, RequestRefused
from clinometer.models.options import LoadOptions, SampleOptions
from clinometer.models.protocol import ModelInfo


@dataclass(frozen=True)
class ApplicationRequest:
    """One request to an application: method, address and what is sent as JSON."""

    method: str
    url: str
    body: Any


@dataclass(frozen=True)
class Application:
    """How an application is asked and what it says."""

    note: str
    """What it is, for the reader of a report."""
    client: Client
    request: Callable[[str], ApplicationRequest]
    """Makes the request for a prompt."""
    read: Callable[[Any], str]
    """Reads the text of a reply."""
    why: Callable[[], str] = str
    """Says why the last request failed, or ""."""
    around: ExitStack = field(default_factory=ExitStack)
    """What is put back when the application is closed."""


MOST_CHARACTERS = 1 << 20
"""Characters of a reply that are read and kept; the others are cut off when it arrives."""


class ApplicationSampler(AskingSampler):
    """Asks an application; what it does with temperature, length and seed is its own affair."""

    def __init__(
        self,
        spec: ModelSpec,
        load: LoadOptions,
        options: SampleOptions,
        application: Application,
    ) -> None:
        application.client.place = f"application {spec.name}"
        revision = revision_of(spec, load) or "as called"
        info = ModelInfo(
            spec.name, "server", revision, dtype="served", device=APPLICATION
        )
        super().__init__(application.client, info, options)
        sampling = f"{options.replies} replies a prompt, asked in random order"
        self.info = replace(self.info, notes=(sampling, application.note))
        self.application = application

    def close(self) -> None:
        super().close()
        self.application.around.close()

    async def ask(self, text: str, number: int, n: int) -> list[str]:
        request = self.application.request(text)
        try:
            reply = await self.client.send(
                request.method, request.url, request.body, self.application.read
            )
            return [reply[:MOST_CHARACTERS]]
        except RequestRefused as error:
            if error.status not in NO_ACCESS:
                raise
            raise ModelError(
                f"{self.client.place}: refused the request (status {error.status}); check the "
                "environment variables that its [headers] name"
            ) from None
        except ModelError as error:
            why = self.application.why()
            if type(error) is not ModelError or not why:
                raise
            raise ModelError(f"{error}; {why}") from None


def as_text(reply: Any) -> str:
    """Return what an application says, as the text that a readout reads."""
    if reply is None:
        return ""
    if isinstance(reply, str):
        return reply
    return json.dumps(reply, ensure_ascii=False)
