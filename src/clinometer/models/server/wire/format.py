"""What every wire format of a chat endpoint says of itself and translates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from clinometer.models.client.failures import Missing


class WireFormat(ABC):
    """How a chat endpoint is asked and how it answers."""

    name: ClassVar[str]
    """Its name in the table of providers."""
    lists_tokens: ClassVar[bool] = False
    """Whether a server may list the most probable first tokens of a reply."""
    several_replies: ClassVar[bool] = False
    """Whether one request can ask for several replies."""
    takes_effort: ClassVar[bool] = False
    """Whether a request can say how much the model reasons."""

    @abstractmethod
    def path(self, model: str) -> str:
        """Return the path of the endpoint after the address."""

    @abstractmethod
    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request in this format.

        `body` has model, messages and parameters as OpenAI's chat completions name them; what the
        format has no place for is left out.
        """

    @abstractmethod
    def replies(self, reply: Any, most: int) -> list[str | None]:
        """Return the texts of a reply, of at most `most`.

        None stands for a text that was cut off before anything was said.
        """

    def first_tokens(self, reply: Any) -> list[tuple[str, float]]:
        """Return the tokens listed for the first place of a reply, with their probabilities."""
        raise Missing("no log-probabilities")


def joined_texts(parts: list[Any]) -> str:
    """Return the texts of a message of several parts; thoughts are other parts."""
    return "".join(part["text"] for part in parts if part.get("type") == "text")
